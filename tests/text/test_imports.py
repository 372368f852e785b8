import subprocess
import sys

HEAVY = ("torch", "sklearn", "gensim", "pandas", "pyarrow", "tokenizers")


def test_text_modules_import_without_heavy_dependencies() -> None:
    script = (
        "import sys\n"
        "import adasent.text.tokenize, adasent.text.vocabulary, adasent.vectors.words\n"
        "import adasent.vectors.train, adasent.vectors.distill\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
