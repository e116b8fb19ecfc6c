# SPDX-License-Identifier: Apache-2.0
"""Sphinx: the documentation site. build.sh mirrors the repository and calls this from the mirror's folder docs/."""

import os
import shutil
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

HERE = Path(os.environ["UVMSIM_DOCS_MIRROR"]) / "docs"

project = "uvmsim"
author = "The uvmsim authors"
copyright = "The uvmsim authors, Apache-2.0"
release = version = os.environ["UVMSIM_DOCS_VERSION"]

extensions = ["myst_parser"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = f"uvmsim {version}"
html_show_sphinx = False
html_extra_path = [str(HERE / "site")]
html_copy_source = False
html_last_updated_fmt = None
pygments_style = "friendly"
pygments_dark_style = "monokai"
exclude_patterns = [".*", "docs/site"]
highlight_language = "none"
myst_heading_anchors = 4
# JSON with "..." in it is no JSON, and READMEs start their headings where they like.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

# The site's contents. A page of docs/ that is not named here comes at the end of "How it works".
CONTENTS = {
    "Start": [
        "questions", "language_models", "first_study", "first_policy", "bpf", "policy_in_ci", "your_machine",
        "describe_kernel", "listening", "raw_faults", "several_gpus", "coherent", "report", "install",
    ],
    "How it works": ["how_it_works", "how_right", "accuracy", "how_fast", "literature", "gallery"],
    "Reference": [f"reference/{page}" for page in ("commands", "files", "columns", "policies", "systems")],
    "The source tree": ["reference/tree"],
}


def with_contents(app, docname, source):
    """Adds the site's contents to its first page; on the repository's own pages they would be code."""
    if not docname.startswith("docs/"):
        source[0] = "---\norphan: true\n---\n" + source[0]  # listed on the page of the source tree alone
    if docname != root_doc:
        return
    named = {page for pages in CONTENTS.values() for page in pages} | {"index"}
    contents = {caption: list(pages) for caption, pages in CONTENTS.items()}
    contents["How it works"] += sorted(path.stem for path in HERE.glob("*.md") if path.stem not in named)
    for caption, pages in contents.items():
        lines = "\n".join(pages)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n:maxdepth: 2\n\n{lines}\n```\n"


def link_folder(app, env, node, contnode):
    """A link to a folder leads to its page."""
    folder = (HERE.parent / node["refdoc"]).parent / node["reftarget"]
    page = os.path.relpath(folder.resolve() / "README", HERE.parent)
    if folder.is_dir() and page in env.found_docs:
        return make_refnode(app.builder, node["refdoc"], page, "", contnode)
    return None


class TextFiles(SphinxPostTransform):
    """A link to a file of the repository opens its text in the browser instead of saving it."""

    default_priority = 5

    def run(self):
        for node in list(self.document.findall(addnodes.download_reference)):
            source = ((HERE.parent / self.env.docname).parent / node["reftarget"]).resolve()
            if source.suffix in (".uvmt", ".zst", ".png"):
                continue
            path = f"_files/{os.path.relpath(source, HERE.parent)}.txt"
            target = Path(self.app.outdir, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            uri = os.path.relpath(path, os.path.dirname(self.app.builder.get_target_uri(self.env.docname)) or ".")
            node.replace_self(nodes.reference("", "", *node.children, refuri=uri, internal=True))


def setup(app):
    app.connect("source-read", with_contents)
    app.connect("missing-reference", link_folder)
    app.add_post_transform(TextFiles)
