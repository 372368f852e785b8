// A text in; its tokens out and where each stands: what adasent/text/tokenize.py finds, scanned
// rather than matched, because a page's expressions know no possessive repeats. Characters are code
// points. What a letter and a mark is comes from Python, whose Unicode may be another one than the
// browser's.

const [LETTER, MARK, SPACE, UNSPACED, EMOJI, TAIL, FLAG] = [1, 2, 4, 8, 16, 32, 64];
const SPACES = [[9, 13], [28, 32], [0x85, 0x85], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a],
  [0x2028, 0x2029], [0x202f, 0x202f], [0x205f, 0x205f], [0x3000, 0x3000]];
// Scripts written without spaces: each character is a token.
const UNSPACED_RANGES = [[0x3040, 0x30ff], [0x3400, 0x4dbf], [0x4e00, 0x9fff], [0xf900, 0xfaff], [0x20000, 0x3ffff]];
const EMOJI_RANGES = [[0x2190, 0x21ff], [0x2300, 0x27bf], [0x2900, 0x2bff], [0x3030, 0x3030], [0x303d, 0x303d],
  [0x3297, 0x3297], [0x3299, 0x3299], [0x1f000, 0x1faff]];
const TAIL_RANGES = [[0xfe0e, 0xfe0f], [0x20e3, 0x20e3], [0x1f3fb, 0x1f3ff], [0xe0020, 0xe007f]];
const JOINER = 0x200d;
const APOSTROPHES = new Set(Array.from("'’‘ʼ＇", (one) => one.codePointAt(0)));
const ALONE = new Set(Array.from("(),!?", (one) => one.codePointAt(0)));
const CLITICS = ["s", "re", "ll", "d", "ve", "m", "t"];
const KIM_CLITICS = ["'s", "'ve", "'re", "'d", "'ll", "n't"];
const LONG_S = 0x17f; // an s to Python, where case does not count

// Which tokens a text has: [start, end] of each, and how they are spelt.
export function tokenizer(name, unicode) {
  return name === "kim" ? new Kim() : new Words(unicode);
}

// White space as Python has it, made one space, none at the ends.
export function plain(text) {
  const characters = Array.from(text);
  const isSpace = (one) => SPACES.some(([first, last]) => first <= one && one <= last);
  return characters.map((one) => (isSpace(one.codePointAt(0)) ? " " : one)).join("")
    .split(" ").filter(Boolean).join(" ");
}

class Words {
  // unicode: {letters, marks}, each a flat list of first and last code points.
  constructor({ letters, marks }) {
    this.kinds = new Uint8Array(0x110000);
    for (let i = 0; i < letters.length; i += 2) this.mark(LETTER, letters[i], letters[i + 1]);
    for (let i = 0; i < marks.length; i += 2) this.mark(MARK, marks[i], marks[i + 1]);
    const ranges = { [SPACE]: SPACES, [UNSPACED]: UNSPACED_RANGES, [EMOJI]: EMOJI_RANGES, [TAIL]: TAIL_RANGES,
      [FLAG]: [[0x1f1e6, 0x1f1ff]] };
    for (const [kind, each] of Object.entries(ranges)) {
      for (const [first, last] of each) this.mark(Number(kind), first, last);
    }
  }

  mark(kind, first, last) {
    for (let point = first; point <= last; point++) this.kinds[point] |= kind;
  }

  // {characters, spans, tokens}
  read(text) {
    const characters = Array.from(text);
    const points = Uint32Array.from(characters, (one) => one.codePointAt(0));
    const spans = [];
    for (let i = 0; i < points.length;) {
      if (this.is(points, i, SPACE)) {
        i++;
        continue;
      }
      const end = this.endOf(points, i);
      spans.push([i, end]);
      i = end;
    }
    const tokens = spans.map(([start, end]) => characters.slice(start, end).join("").toLowerCase()
      .replace(/[’‘ʼ＇]/gu, "'"));
    return { characters, spans, tokens };
  }

  is(points, i, kind) {
    return i < points.length && (this.kinds[points[i]] & kind) !== 0;
  }

  // A letter of a word, of a script that has spaces.
  isLetter(points, i) {
    return i < points.length && (this.kinds[points[i]] & (LETTER | UNSPACED)) === LETTER;
  }

  endOf(points, i) {
    const clitic = Math.max(this.negation(points, i), this.suffix(points, i));
    if (clitic > i) return clitic;
    if (this.isLetter(points, i)) return this.word(points, i);
    if (this.is(points, i, FLAG) && this.is(points, i + 1, FLAG)) return i + 2;
    if (this.is(points, i, EMOJI)) return this.emoji(points, i);
    if (ALONE.has(points[i]) || this.is(points, i, UNSPACED)) return i + 1;
    let end = i + 1;
    while (points[end] === points[i]) end++;
    return end;
  }

  // Where n't, or 's and its like, ends that begins here; here if none does.
  negation(points, i) {
    const here = spelt(points, i, "n") && APOSTROPHES.has(points[i + 1]) && spelt(points, i + 2, "t");
    return here && this.isEnd(points, i + 3) ? i + 3 : i;
  }

  suffix(points, i) {
    if (!APOSTROPHES.has(points[i])) return i;
    const found = CLITICS.find((one) => spelt(points, i + 1, one) && this.isEnd(points, i + 1 + one.length));
    return found ? i + 1 + found.length : i;
  }

  isEnd(points, i) {
    return !this.is(points, i, LETTER | MARK);
  }

  word(points, i) {
    let end = this.run(points, i);
    while (APOSTROPHES.has(points[end]) && this.isLetter(points, end + 1) && this.suffix(points, end) === end) {
      end = this.run(points, end + 1);
    }
    return end;
  }

  run(points, i) {
    const goesOn = (at) => this.isLetter(points, at) || this.is(points, at, MARK)
      || points[at] === JOINER || points[at] === JOINER - 1;
    let end = i + 1;
    while (goesOn(end) && this.negation(points, end) === end) end++;
    return end;
  }

  emoji(points, i) {
    let end = this.tail(points, i + 1);
    while (points[end] === JOINER && this.is(points, end + 1, EMOJI)) end = this.tail(points, end + 2);
    return end;
  }

  tail(points, i) {
    let end = i;
    while (this.is(points, end, TAIL)) end++;
    return end;
  }
}

// Whether these ASCII letters stand here, in either case.
function spelt(points, i, letters) {
  for (let k = 0; k < letters.length; k++) {
    const wanted = letters.charCodeAt(k);
    const point = points[i + k];
    if (point !== wanted && point !== wanted - 32 && !(letters[k] === "s" && point === LONG_S)) return false;
  }
  return true;
}

class Kim {
  read(text) {
    const characters = Array.from(text);
    const spans = [];
    for (let i = 0; i < characters.length;) {
      if (ALONE.has(characters[i].codePointAt(0))) spans.push([i, i + 1]);
      else if (isKim(characters[i])) {
        let end = i + 1;
        while (end < characters.length && isKim(characters[end]) && !isKimClitic(characters, end)) end++;
        spans.push([i, end]);
      } else {
        i++;
        continue;
      }
      i = spans.at(-1)[1];
    }
    const tokens = spans.map(([start, end]) => characters.slice(start, end).join("").toLowerCase());
    return { characters, spans, tokens };
  }
}

function isKim(character) {
  return /^[A-Za-z0-9'`]$/.test(character);
}

// Only in lower case, and whatever follows.
function isKimClitic(characters, i) {
  return KIM_CLITICS.some((one) => Array.from(one).every((letter, k) => characters[i + k] === letter));
}
