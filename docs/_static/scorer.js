// The weights of the search: those of Sphinx, but a heading with all of the question comes first.
var Scorer = {
  score: ([, title, , , score]) => {
    const asked = new URLSearchParams(window.location.search).get("q") ?? "";
    const is_heading = title.toLowerCase().includes(asked.trim().toLowerCase());
    return score + (is_heading ? 20 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
