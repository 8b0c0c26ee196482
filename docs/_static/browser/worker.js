// Python beside the page, so that the page answers while a cell runs.
const asked = new URL(self.location).searchParams;
const home = asked.get("pyodide");
const { loadPyodide } = await import(new URL("pyodide.mjs", home).href);
const python = await loadPyodide({ indexURL: home });
await python.loadPackage(["numpy", new URL(asked.get("wheel"), self.location).href]);
python.runPython(await (await fetch("console.py")).text());
const run = python.globals.get("run");
const names = new Map();  // those of each page

self.onmessage = async ({ data: { id, page, packages, code } }) => {
  if (packages.length) await python.loadPackage(packages);
  if (!names.has(page)) names.set(page, python.runPython("{'__name__': '__main__'}"));
  self.postMessage({ id, output: run(code, `${page}-${id}.py`, names.get(page)) });
};
self.postMessage({ id: "ready" });
