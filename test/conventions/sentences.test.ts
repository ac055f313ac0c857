// Names and sentences of the product: no name is a participle, no sentence of a comment is longer than a reader holds,
// and none has the words that say nothing.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Source {
  readonly file: string;
  readonly text: string;
}

const sources = (folders: readonly string[], name: RegExp): readonly Source[] =>
  folders.flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((file) => name.test(file) && !/(?:^|\/)(?:node_modules|dist|generated)\//.test(file))
      .map((file) => ({ file: `${folder}/${file}`, text: readFileSync(`${root}${folder}/${file}`, 'utf8') })),
  );

const code = sources(['src', 'actors', 'adapters', 'packages/agent/src'], /\.tsx?$/);
const pages = [
  ...sources(['docs'], /\.md$/),
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'packages/agent/README.md'].map(
    (file) => ({ file, text: readFileSync(`${root}${file}`, 'utf8') }),
  ),
];

const participles = 'found|known|asked|given|wanted|told|shown|made|named|said|seen';
/** Declarations by a keyword, and the one parameter of an arrow function; `npm run measure` counts all parameters. */
const declaration = new RegExp(
  `\\b(?:const|let|var|function) (?:${participles})\\b|\\((?:${participles})(?:: [^()]*)?\\) =>`,
);
const idle = /\b(?:meanwhile|besides|anew|as it stands|unless[ ]told)\b|\bin words(?=[.,:;)])/i;
const maxWords = 25;

const withoutStrings = (text: string): string => text.replace(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''");

/** Each comment as one text: tags and list items are sentences of their own. */
function commentsOf(text: string): readonly string[] {
  const blocks = [...text.matchAll(/\/\*\*([\s\S]*?)\*\//g)].map(([, block = '']) =>
    block.replace(/^\s*\* ?/gm, ''),
  );
  const lines = [...text.matchAll(/(?:^[ \t]*\/\/.*\n?)+/gm)].map(([block]) =>
    block.replace(/^\s*\/\/ ?/gm, ''),
  );
  return [...blocks, ...lines].map((comment) =>
    comment
      .replace(/\s(?=@(?:param|returns|throws|template)\b)/g, ' . ')
      .replace(/^- /gm, '. ')
      .replace(/\s+/g, ' '),
  );
}

/**
 * A colon ends a sentence, because a list or an explanation follows. A semicolon ends one only in a tag's text, where
 * it stands between the cases that the tag lists.
 */
const sentencesOf = (comment: string): readonly string[] =>
  comment
    .split(/(?<=[.!?])\s+(?=[A-Z`@(])|(?<=:)\s+/)
    .flatMap((sentence) => (sentence.startsWith('@') ? sentence.split(/(?<=;)\s+/) : [sentence]))
    .map((sentence) => sentence.trim());

const wordCount = (sentence: string): number => sentence.split(/\s+/).length;

it('declares no name that is a participle', () => {
  expect(code.length).toBeGreaterThan(900);
  const places = code.flatMap(({ file, text }) => {
    const name = declaration.exec(withoutStrings(text))?.[0];
    return name === undefined ? [] : [`${file}: ${name}`];
  });
  expect(places).toEqual([]);
});

it('writes no idle word into code and pages', () => {
  const places = [...code, ...pages].flatMap(({ file, text }) =>
    text
      .split('\n')
      .flatMap((line, at) => (idle.test(line) ? [`${file}:${at + 1}: ${idle.exec(line)?.[0]}`] : [])),
  );
  expect(places).toEqual([]);
});

it(`writes comments in sentences of at most ${maxWords} words`, () => {
  const sentences = code.flatMap(({ file, text }) =>
    commentsOf(text).flatMap((comment) => sentencesOf(comment).map((sentence) => ({ file, sentence }))),
  );
  expect(sentences.length).toBeGreaterThan(15_000);
  const long = sentences.filter(({ sentence }) => wordCount(sentence) > maxWords);
  expect(long.map(({ file, sentence }) => `${file}: ${sentence}`)).toEqual([]);
});

/** Comments, and of pages the lines that begin a paragraph, an item or a title. */
const beginning = /^(?:What|Who|Whoever|Whatever|Whether|That)\b(?!.*\?)/;
const beginningsOf = (text: string): readonly string[] =>
  text
    .replace(/^ *```[\s\S]*?^ *```/gm, '')
    .split('\n')
    .filter((line) => !line.startsWith('|'))
    .flatMap((line, at, lines) => {
      const bare = line.replace(/^(?:[\s>#]|[-*] |\d+\. |\*\*)*/, '');
      const isStart = bare !== line || at === 0 || lines[at - 1]?.trim() === '';
      const sentences = bare.split(/(?<=[.!?])\s+(?=[A-Z`@(])/);
      return isStart ? sentences : sentences.slice(1);
    });

it('begins no sentence with What, Who, Whether or That, save a question', () => {
  const comments = code.flatMap(({ file, text }) =>
    commentsOf(text).flatMap((comment) => sentencesOf(comment).map((sentence) => ({ file, sentence }))),
  );
  const lines = pages.flatMap(({ file, text }) => beginningsOf(text).map((sentence) => ({ file, sentence })));
  expect(lines.length).toBeGreaterThan(2_000);
  const wrong = [...comments, ...lines].filter(({ sentence }) => beginning.test(sentence));
  expect(wrong.map(({ file, sentence }) => `${file}: ${sentence.slice(0, 100)}`)).toEqual([]);
});

it('finds a participle, an idle word and a long sentence', () => {
  expect(declaration.test('const found = 1')).toBe(true);
  expect(declaration.test('(found: string) => 1')).toBe(true);
  expect(idle.test('and meanwhile it waits')).toBe(true);
  const [comment = ''] = commentsOf(`// ${'word '.repeat(maxWords + 1)}\n`);
  expect(sentencesOf(comment).map(wordCount)).toEqual([maxWords + 1]);
  expect(sentencesOf('One fact; another fact.').map(wordCount)).toEqual([4]);
  expect(
    beginningsOf('- **What to do.** Wait.\nA line. That is all.').filter((one) => beginning.test(one)),
  ).toEqual(['What to do.** Wait.', 'That is all.']);
  expect(sentencesOf('@throws HubError forbidden; not_found').map(wordCount)).toEqual([3, 1]);
});
