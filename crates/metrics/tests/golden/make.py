"""Writes golden.json and draws.json: what sacreBLEU 2.6.0 makes of the texts in this folder.

    pip install sacrebleu==2.6.0 && python make.py

The texts are invented for these tests. Lines end in LF only, as in Umlaut; sacreBLEU's own reader would also break
them at other characters. Where a score is recomputed from statistics that are whole numbers, this is done in Python
integers: sacreBLEU's resampling uses 32-bit floats, which its formulas do not ask for.
"""

import itertools
import json
import random
from pathlib import Path

import numpy
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest, _compute_p_value, estimate_ci

FOLDER = Path(__file__).parent
MANY = 1000
# (reference streams, first line, line after the last): all lines; lines with orders that nothing matches; the empty
# hypothesis; the line that is empty on all sides; the one with an empty reference.
PARTS = [("a", 0, 36), ("ab", 0, 36), ("a", 25, 28), ("b", 32, 33), ("ab", 2, 3), ("ab", 11, 12), ("a", 12, 13)]


def lines(name):
    return (FOLDER / name).read_bytes().decode("utf-8").split("\n")[:-1]


SYSTEM, BASELINE = lines("system.txt"), lines("baseline.txt")
REFERENCES = {"a": [lines("reference.a.txt")], "b": [lines("reference.b.txt")]}
REFERENCES["ab"] = REFERENCES["a"] + REFERENCES["b"]


def metrics():
    """Every combination of options that Umlaut has, as (options, metric)."""
    for tokenizer, smoothing, lowercase in itertools.product(
        ["13a", "intl", "char", "none"], ["exp", "floor", "add-k", "none"], [False, True]
    ):
        options = {"metric": "bleu", "tokenize": tokenizer, "smooth": smoothing, "lowercase": lowercase}
        yield options, BLEU(tokenize=tokenizer, smooth_method=smoothing, lowercase=lowercase)
    for (char_order, word_order, beta), eps, lowercase in itertools.product(
        [(6, 0, 2), (6, 2, 2), (6, 1, 1), (3, 2, 3)], [False, True], [False, True]
    ):
        options = {"metric": "chrf", "char_order": char_order, "word_order": word_order, "beta": beta}
        options |= {"every_order": eps, "lowercase": lowercase}
        yield options, CHRF(char_order, word_order, beta, lowercase, eps_smoothing=eps)
    for case_sensitive, no_punct in itertools.product([False, True], repeat=2):
        options = {"metric": "ter", "lowercase": not case_sensitive, "remove_punctuation": no_punct}
        yield options, TER(case_sensitive=case_sensitive, no_punct=no_punct)


def scores():
    """One corpus score per metric and part of the text, as sacreBLEU prints it and in full."""
    for (options, metric), (streams, first, end) in itertools.product(metrics(), PARTS):
        score = metric.corpus_score(SYSTEM[first:end], [stream[first:end] for stream in REFERENCES[streams]])
        printed = score.format(signature=str(metric.get_signature()))
        yield options | {"part": [streams, first, end], "score": score.score, "printed": printed}


def statistics():
    """Per-line statistics of the default metrics."""
    for name, metric in {"BLEU": BLEU(), "chrF2++": CHRF(word_order=2), "TER": TER()}.items():
        for streams in REFERENCES:
            rows = metric._extract_corpus_statistics(SYSTEM, REFERENCES[streams])
            yield {"name": name, "references": streams, "rows": rows}


def of_lines(metric, rows, picked):
    return metric._compute_score_from_stats([sum(column) for column in zip(*(rows[line] for line in picked))]).score


def fixed_draws():
    """Intervals and p-values from draws given here, to compare formulas and not random generators."""
    generator, count = random.Random(3), len(SYSTEM)
    draws = [[generator.randrange(count) for _ in range(count)] for _ in range(80)]
    coins = [[generator.randrange(2) for _ in range(count)] for _ in range(80)]
    outcomes = []
    for name, metric in {"BLEU": BLEU(), "chrF2++": CHRF(word_order=2), "TER": TER()}.items():
        system = metric._extract_corpus_statistics(SYSTEM, REFERENCES["a"])
        baseline = metric._extract_corpus_statistics(BASELINE, REFERENCES["a"])
        difference = of_lines(metric, system, range(count)) - of_lines(metric, baseline, range(count))
        of_system = numpy.array([of_lines(metric, system, draw) for draw in draws])
        of_baseline = numpy.array([of_lines(metric, baseline, draw) for draw in draws])
        differences = numpy.abs(of_system - of_baseline)
        both = system + baseline
        swaps = [[line + count if coin else line for line, coin in enumerate(trial)] for trial in coins]
        swapped = [
            abs(of_lines(metric, both, swap) - of_lines(metric, both, [(line + count) % (2 * count) for line in swap]))
            for swap in swaps
        ]
        mean, half_width = estimate_ci(of_system)
        outcomes.append(
            {
                "name": name,
                "difference": difference,
                "mean": float(mean),
                "half_width": float(half_width),
                "bootstrap_p": _compute_p_value(differences - differences.mean(), abs(difference)),
                "randomization_p": _compute_p_value(numpy.array(swapped), abs(difference)),
            }
        )
    return {"draws": draws, "coins": coins, "outcomes": outcomes}


def significance():
    """sacreBLEU's own resampling, whose draws Umlaut cannot repeat: to compare within Monte-Carlo error."""
    systems = [("baseline", BASELINE), ("system", SYSTEM)]
    for streams in ["a", "b"]:
        tested = {"BLEU": BLEU(), "chrF2++": CHRF(word_order=2), "TER": TER()}
        _, bootstrap = PairedTest(systems, tested, REFERENCES[streams], "bs", n_samples=MANY)()
        _, randomization = PairedTest(systems, tested, REFERENCES[streams], "ar", n_samples=MANY)()
        for name, metric in tested.items():
            score = metric.corpus_score(SYSTEM, REFERENCES[streams], n_bootstrap=MANY)
            yield {
                "name": name,
                "references": streams,
                "samples": MANY,
                "mean": float(score._mean),
                "half_width": float(score._ci),
                "printed": score.format(signature=str(metric.get_signature())),
                "bootstrap_p": bootstrap[name][1].p_value,
                "randomization_p": randomization[name][1].p_value,
            }


def main():
    assert sacrebleu.__version__ == "2.6.0"
    sections = {"scores": scores(), "statistics": statistics(), "significance": significance()}
    text = "{\n"
    for name, entries in sections.items():
        rows = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
        text += f'"{name}": [\n{rows}\n],\n'
    (FOLDER / "golden.json").write_text(text.removesuffix(",\n") + "\n}\n", encoding="utf-8")
    (FOLDER / "draws.json").write_text(json.dumps(fixed_draws()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
