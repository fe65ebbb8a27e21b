"""Charts as SVG, drawn by hand: they follow the reader's light or dark mode and need no library."""
from html import escape

FONT = "-apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
STYLE = f"""
  .back {{ fill: #ffffff }} .ink {{ fill: #1f2328 }} .soft {{ fill: #59636e }} .line {{ stroke: #d1d9e0 }} .mark {{ stroke: #59636e }}
  .oxibert {{ --c: #c2410c }} .torch {{ --c: #94a3b8 }} .onnxruntime {{ --c: #0e9aa7 }} .openvino {{ --c: #8b7bc8 }} .ctranslate2 {{ --c: #4d8f5a }}
  .fill {{ fill: var(--c) }} .stroke {{ stroke: var(--c); fill: none }}
  text {{ font: 12px {FONT} }} .title {{ font-size: 16px; font-weight: 600 }} .small {{ font-size: 11px }} .strong {{ font-weight: 600 }}
  @media (prefers-color-scheme: dark) {{
    .back {{ fill: #0d1117 }} .ink {{ fill: #f0f6fc }} .soft {{ fill: #9198a1 }} .line {{ stroke: #3d444d }} .mark {{ stroke: #9198a1 }}
    .oxibert {{ --c: #fb7f3a }} .torch {{ --c: #7d8ba1 }} .onnxruntime {{ --c: #2bb3c0 }} .openvino {{ --c: #a394e0 }} .ctranslate2 {{ --c: #6ab579 }}
  }}
"""


class Canvas:
    def __init__(self, width, height, title, subtitle):
        self.width, self.height, self.parts = width, height, []
        self.name = title
        self.add(f'<rect class="back" width="{width}" height="{height}" rx="8"/>')
        self.text(24, 32, title, "ink title")
        self.text(24, 52, subtitle, "soft")

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, words, kind="ink", anchor="start"):
        self.add(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(str(words))}</text>')

    def bar(self, x, y, width, height, tool, hint):
        """A bar with round shoulders; its figure shows when the mouse rests on it."""
        radius = min(3, width / 2, height)
        path = f"M{x:.1f},{y + height:.1f} v{-(height - radius):.1f} q0,{-radius} {radius},{-radius} h{width - 2 * radius:.1f} " \
               f"q{radius},0 {radius},{radius} v{height - radius:.1f} z"
        self.add(f'<path class="fill {tool}" d="{path}"><title>{escape(hint)}</title></path>')

    def line(self, x1, y1, x2, y2, kind="line", dashes=""):
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.add(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{dashed}/>')

    def curve(self, points, tool):
        width = 2.6 if tool == "oxibert" else 1.8
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.add(f'<polyline class="stroke {tool}" stroke-width="{width}" stroke-linejoin="round" points="{path}"/>')
        for x, y in points:
            self.add(f'<circle class="fill {tool}" cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>')

    def legend(self, tools, names, y):
        x = 24
        for tool in tools:
            self.add(f'<rect class="fill {tool}" x="{x}" y="{y - 10}" width="12" height="12" rx="2"/>')
            self.text(x + 18, y, names[tool], "ink strong" if tool == "oxibert" else "ink")
            x += 18 + 7.2 * len(names[tool]) + 22

    def save(self, path):
        body = "\n".join(self.parts)
        path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
                        f'height="{self.height}" role="img" aria-label="{escape(self.name)}">\n<style>{STYLE}</style>\n{body}\n</svg>\n')


def nice_step(top, parts=5):
    """A round distance for about so many grid lines."""
    raw = top / parts
    unit = 10 ** len(str(int(raw))) / 10 if raw >= 1 else 10 ** -(len(f"{1 / raw:.0f}"))
    return next(unit * times for times in (1, 2, 2.5, 5, 10, 20) if unit * times >= raw)


def grid(canvas, left, right, bottom, height, top, shown=lambda value: f"{value:g}"):
    """Lines across with their values; returns what turns a value into a height."""
    step, value = nice_step(top), 0.0
    while value <= top * 1.0001:
        y = bottom - height * value / top
        canvas.line(left, y, right, y)
        canvas.text(left - 8, y + 4, shown(value), "soft small", "end")
        value += step
    return lambda value: height * value / top
