"""Raw lines to medians: of every section, the last full run that has it."""
import json
import statistics

from common import HOME


class Summary:
    def __init__(self, quick_too=False):
        path = HOME / "results.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        self.runs = {line["run"]: line for line in lines if line.get("section") == "run"}
        known = [line for line in lines if line["run"] in self.runs and (quick_too or not self.runs[line["run"]]["quick"])]
        last = {line["section"]: line["run"] for line in known}
        self.lines = [line for line in known if line["run"] == last[line["section"]]]

    def used_runs(self):
        names = sorted({line["run"] for line in self.lines if line["section"] not in ("run", "tuning", "memory")})
        return [self.runs[name] for name in names]

    def select(self, section, **fields):
        return [line for line in self.lines
                if line["section"] == section and all(line.get(key) == value for key, value in fields.items())]

    def median(self, section, **fields):
        """Seconds, over all rounds; nothing if the tool failed or its numbers are wrong."""
        lines = self.select(section, **fields)
        if not lines or any("error" in line or not line.get("agreement", {}).get("equal", True) for line in lines):
            return None
        return statistics.median(second for line in lines for second in line["seconds"])

    def figure(self, section, name, **fields):
        found = [line[name] for line in self.select(section, **fields) if line.get(name) is not None]
        return statistics.median(found) if found else None

    def problem(self, section, **fields):
        """Why there is no figure."""
        lines = self.select(section, **fields)
        if not lines:
            return "not measured"
        agreement = lines[0].get("agreement", {})
        if "max_difference" in agreement and not agreement["equal"]:
            return f"wrong: off by {agreement['max_difference']:.2g}"
        error = next((line["error"] for line in lines if "error" in line), None) or agreement.get("error")
        return f"failed: {str(error)[:60]}"

    def work(self, section, **fields):
        """Floating-point operations, from oxibert's own count."""
        lines = self.select(section, tool="oxibert", **fields)
        return lines[0]["gflops_per_s"] * lines[0]["step_ms"]["median"] / 1e3 if lines and "gflops_per_s" in lines[0] else None

    def peers(self, section, **fields):
        """The medians of the peers whose numbers are right."""
        tools = {line["tool"] for line in self.select(section, **fields)} - {"oxibert", "torch-arrival"}
        medians = {tool: self.median(section, tool=tool, **fields) for tool in tools}
        return {tool: median for tool, median in medians.items() if median}
