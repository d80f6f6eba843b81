#!/usr/bin/env python3
"""Builds a searchable website of the pages of this repository, and llms.txt for it.

    pip install --requirement server/site/requirements.txt
    python3 server/site/build.py

It is written to target/site, or to another folder with --out. Pages stay where they are: what
the generator gets is made of them, with links that fit the site. A page may link to any file:
pages and pictures are linked, other texts become pages with their code, folders lists of files.

A broken link or anchor, a page that `pages.toml` lacks, and Markdown that comes out as plain
text fail the build.
"""

import argparse
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Pages that only other pages link to.
UNLISTED = re.compile(r"benches/results/")
# The template of a game's own page, and pages of package registries.
NO_PAGE = {
    "server/src/commands/new/README.md",
    "client-bot/ffi/package/README.md",
    "client-bot/web/package/README.md",
}

PICTURES = {".svg", ".jpg", ".png"}
CODE_BYTES_MAX = 64 * 1024
LANGUAGES = {
    ".rs": "rust", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".py": "python",
    ".js": "js", ".c": "c", ".h": "c", ".cs": "csharp", ".gd": "gdscript", ".service": "ini",
}

FENCE = re.compile(r"^ *```")
LINK = re.compile(r"\]\(([^()\s]+)\)")
LIST_ITEM = re.compile(r"^([-*]|\d+\.) ")


class Site:
    """The pages as the generator gets them."""

    def __init__(self, files):
        self.files = files
        self.pages = {name for name in files if name.endswith(".md")} - NO_PAGE
        # What pages link to, besides pages; it can link to more.
        self.linked = []
        self.broken = []

    def target(self, link, page):
        """A link of a page, as a path of the site from the same folder."""
        path, _, anchor = link.partition("#")
        if urllib.parse.urlsplit(link).scheme or not path:
            return link
        name = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        staged = self.staged(name)
        if staged is None:
            self.broken.append(f"{page}: {link}: no such file")
            return link
        anchor = f"#{anchor}" if anchor else ""
        return posixpath.relpath(staged, posixpath.dirname(page) or ".") + anchor

    def staged(self, name):
        """The file of the site for a file or folder of the repository."""
        if name in self.pages:
            return staged_page(name)
        is_folder = any(file.startswith(f"{name}/") for file in self.files)
        if is_folder and f"{name}/README.md" in self.pages:
            return staged_page(f"{name}/README.md")
        if is_folder or name in self.files:
            if name not in self.linked:
                self.linked.append(name)
            is_shown = is_folder or self.is_code(name)
            return shown_page(name) if is_shown else name
        return None

    def is_code(self, name):
        path = ROOT / name
        return path.suffix not in PICTURES | {".json"} and path.stat().st_size <= CODE_BYTES_MAX

    def page(self, name):
        """The text of a page for the generator, whose Markdown is stricter than others."""
        lines = []
        in_block = False
        for line in (ROOT / name).read_text().splitlines():
            before = lines[-1] if lines else ""
            if FENCE.match(line):
                in_block = not in_block
                if in_block:
                    # What a compiler needs to know of an example is not its language.
                    line = line.split(",")[0]
                    lines += [""] if before else []
            elif not in_block:
                line = re.sub(r"^ {2,3}(?=\S)", "    ", line)
                begins = (line.startswith("|") and not before.startswith("|")) or (
                    LIST_ITEM.match(line) and not re.match(r"^ +|" + LIST_ITEM.pattern, before))
                lines += [""] if begins and before else []
                line = self.relinked(line, name)
            lines.append(line)
            if line.strip() == "```" and not in_block:
                lines.append("")
        return "\n".join(lines) + "\n"

    def relinked(self, line, page):
        # Not in code: every second part between backquotes.
        parts = re.split(r"(`[^`]*`)", line)
        # A link's text can be code, so its target stands after the backquote.
        return "".join(
            part if part.startswith("`") else
            LINK.sub(lambda m: f"]({self.target(m[1], page)})", part)
            for part in parts)

    def shown(self, name):
        """A page that shows a file's text, or the files of a folder."""
        # A search finds pages, not code.
        title = f"---\nsearch:\n  exclude: true\n---\n# `{name}`\n\n"
        if name in self.files:
            language = LANGUAGES.get(Path(name).suffix, "text")
            return f"{title}``````{language}\n{(ROOT / name).read_text()}\n``````\n"
        page = shown_page(name)
        inside = sorted(file for file in self.files if file.startswith(f"{name}/"))
        def row(file):
            link = posixpath.relpath(self.staged(file), posixpath.dirname(page) or ".")
            return f"- [{file[len(name) + 1:]}]({link})"
        return title + "\n".join(row(file) for file in inside) + "\n"


def staged_page(name):
    folder, file = posixpath.split(name)
    return posixpath.join(folder, "index.md") if file == "README.md" else name


def shown_page(name):
    return f"{name}.md"


def tracked_files():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True)
    return {name for name in listed.stdout.split("\n") if name and (ROOT / name).exists()}


def title_of(name):
    return re.search(r"^# (.+)$", (ROOT / name).read_text(), re.M)[1]


def summary_of(name):
    """The first sentence of a page, in plain text."""
    text = (ROOT / name).read_text().split("\n", 1)[1]
    text = re.sub(r"^```.*?^```\n", "", text, flags=re.M | re.S)
    blocks = (block.strip() for block in text.split("\n\n"))
    for block in blocks:
        plain = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", " ".join(block.split()))
        sentence = re.split(r"(?<=\.)\s", plain)[0]
        if sentence and not sentence.startswith(("#", "|", "!", "-")) and sentence[-1] != ":":
            return sentence
    return ""


def stage(site, sections, work):
    pages = work / "pages"
    for name in sorted(site.pages):
        write(pages / staged_page(name), site.page(name))
    done = 0
    while done < len(site.linked):
        name = site.linked[done]
        done += 1
        if name in site.files and not site.is_code(name):
            (pages / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, pages / name)
        else:
            write(pages / shown_page(name), site.shown(name))
    for name in ["site.css", "logo.svg"]:
        shutil.copyfile(HERE / name, pages / name)
    write(work / "zensical.toml", configuration(sections))


def configuration(sections):
    def entry(name, title):
        return f'{{ "{title}" = "{staged_page(name)}" }}'
    lines = []
    for section in sections:
        entries = [entry(name, title_of(name)) for name in section["pages"]]
        if len(entries) == 1:
            lines += [f"    {entry(section['pages'][0], section['name'])},"]
        else:
            lines += [f'    {{ "{section["name"]}" = [{", ".join(entries)}] }},']
    nav = "nav = [\n" + "\n".join(lines) + "\n]\n"
    return (HERE / "zensical.toml").read_text().replace("[project]\n", f"[project]\n{nav}", 1)


def unlisted(site, sections):
    """Differences between the pages that there are and those of `pages.toml`."""
    listed = [name for section in sections for name in section["pages"]]
    expected = {name for name in site.pages if not UNLISTED.match(name)}
    yield from (f"{name}: is not in pages.toml" for name in sorted(expected - set(listed)))
    yield from (f"pages.toml: {name}: no such page" for name in sorted(set(listed) - site.pages))
    yield from (f"pages.toml: {name} is there twice" for name in listed if listed.count(name) > 1)


def write_texts(sections, site, work, out, url):
    """llms.txt, all pages in one text, and each page's Markdown beside it."""
    index = ["# Myriad", "", f"> {summary_of('README.md')}", ""]
    index += [f"All pages in one text: [llms-full.txt]({url}llms-full.txt)", ""]
    full = []
    for section in sections:
        index += [f"## {section['name']}", ""]
        for name in section["pages"]:
            link = f"{url}{staged_page(name)}"
            index.append(f"- [{title_of(name)}]({link}): {summary_of(name)}")
            full.append(f"<!-- {name} -->\n\n{(ROOT / name).read_text()}")
        index.append("")
    write(out / "llms.txt", "\n".join(index))
    write(out / "llms-full.txt", "\n".join(full))
    for name in site.pages:
        write(out / staged_page(name), (work / "pages" / staged_page(name)).read_text())


class Built(HTMLParser):
    """The anchors and links of a built page, and paragraphs that should have been more."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.plain = set(), [], []
        self.in_paragraph = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors |= {attributes.get("id"), attributes.get("name")} - {None}
        link = attributes.get("href") or attributes.get("src")
        if link and tag in ("a", "img", "script", "link"):
            self.links.append(link)
        self.in_paragraph = tag == "p"

    def handle_data(self, text):
        if self.in_paragraph and re.match(r"\s*(\||[-*] |```|#)", text):
            self.plain.append(text.strip())
        self.in_paragraph = False


def problems(out):
    built = {path: Built(path.read_text()) for path in sorted(out.rglob("*.html"))}
    # A server shows it at any address.
    built.pop(out / "404.html", None)
    for path, page in built.items():
        shown = path.relative_to(out)
        yield from (f"{shown}: stayed plain text: {text[:60]}" for text in page.plain)
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            file = urllib.parse.unquote(parts.path)
            target = Path(os.path.normpath(path.parent / file)) if file else path
            target = target / "index.html" if target.is_dir() else target
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.exists():
                yield f"{shown}: {link}: no such file"
            elif anchor and target in built and anchor not in built[target].anchors:
                yield f"{shown}: {link}: no such heading"
    texts = (out / "llms.txt").read_text()
    for link in LINK.findall(texts):
        if not urllib.parse.urlsplit(link).scheme and not (out / link).exists():
            yield f"llms.txt: {link}: no such file"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def fail(messages):
    messages = list(messages)
    if messages:
        sys.exit("\n".join([*messages, f"{len(messages)} problems: the site was not built"]))


def main():
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description="Builds the website of these pages.")
    parser.add_argument("--out", type=Path, default=target / "site", help="folder of the site")
    parser.add_argument("--url", default="", help="where it will be, for the links of llms.txt")
    arguments = parser.parse_args()
    url = arguments.url.rstrip("/") + "/" if arguments.url else ""

    sections = tomllib.loads((HERE / "pages.toml").read_text())["section"]
    site = Site(tracked_files())
    fail(unlisted(site, sections))
    work = target / "site-work"
    shutil.rmtree(work, ignore_errors=True)
    stage(site, sections, work)
    fail(site.broken)

    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    plain = {**os.environ, "NO_COLOR": "1"}
    ran = subprocess.run(command, cwd=work, env=plain, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{ran.stdout}{ran.stderr}zensical failed: the site was not built")
    built = work / "site"
    write_texts(sections, site, work, built, url)
    fail(problems(built))
    # Only a whole site takes the place of the one before.
    shutil.rmtree(arguments.out, ignore_errors=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(built, arguments.out)
    count = len(list(arguments.out.rglob("*.html")))
    print(f"{arguments.out}: {count} pages, no broken link")


if __name__ == "__main__":
    main()
