// Prints the measures of the code's structure: `npm run measure`, with `--json` as one object, with `--list NAME` the
// places behind one measure. Product code alone: src, actors, adapters, and the agent package's src.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';
import { approvalFields } from '../src/approval/record.ts';
import { snake } from '../src/shared/snake-keys.ts';

const root = new URL('../', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, root), 'utf8');
const lineCount = (text: string): number => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);

const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8', maxBuffer: 16 << 20 })
  .split('\n')
  .filter(Boolean);
const isProduct = (file: string): boolean =>
  /^(?:src|actors|adapters|packages\/agent\/src)\//.test(file) && /\.(?:tsx?|css|html)$/.test(file);
const productFiles = tracked.filter(isProduct).map((file) => ({ file, text: read(file) }));
const codeFiles = productFiles.filter(({ file }) => /\.tsx?$/.test(file));

const approvalWords = new Set(Object.keys(approvalFields).flatMap((name) => [name, snake(name)]));

const participles = new Set('found known asked given wanted told shown made named said seen'.split(' '));
/** Files in which words of the wire are snake_case: records, files of an API, http, adapters, the rule language. */
const isWireFile = (file: string): boolean =>
  /^(?:adapters|src\/http|src\/dashboard|packages\/agent\/src)\//.test(file) ||
  /\/(?:api|console|hosted|wire|frames|record|records)(?:\/|[.-])/.test(file);
const maxFunctionLines = 60;
const maxComponentLines = 100;

interface Place {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}
type Span = { readonly start: number; readonly end: number };

/** The places of one file, by measure. */
class FileMeasures {
  readonly approvalLists: Place[] = [];
  readonly longFunctions: Place[] = [];
  readonly participleNames: Place[] = [];
  readonly snakeCaseProperties: Place[] = [];
  readonly #starts: number[] = [0];

  readonly file: string;
  readonly text: string;

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.#starts.push(at + 1);
    this.#visit();
    this.#searchStatements();
  }

  #line(offset: number): number {
    let low = 0;
    let high = this.#starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  }

  #place(node: Span, text: string): Place {
    return { file: this.file, line: this.#line(node.start), text };
  }

  #visit(): void {
    const { program } = parseSync(this.file, this.text, { preserveParens: false });
    const measureFunction = (
      node: Span & { readonly body?: (Span & { readonly type: string }) | null },
    ): void => {
      if (!node.body) return;
      const lines = this.#line(node.end) - this.#line(node.start) + 1;
      const isComponent = this.file.endsWith('.tsx');
      // An arrow with an object or a list as its body is a table.
      const isTable = node.body.type === 'ObjectExpression' || node.body.type === 'ArrayExpression';
      if (!isTable && lines > (isComponent ? maxComponentLines : maxFunctionLines))
        this.longFunctions.push(this.#place(node, `${lines} lines`));
    };
    const measureName = (node: unknown): void => {
      const { type, name } = node as { readonly type: string; readonly name?: string };
      if (type === 'Identifier' && name !== undefined && participles.has(name))
        this.participleNames.push(this.#place(node as Span, name));
    };
    const measureKeys = (node: Span, keys: readonly (string | undefined)[]): void => {
      const fields = new Set(
        keys.filter((key): key is string => key !== undefined && approvalWords.has(key)).map(snake),
      );
      // A list that shares few of its names with an approval is another noun's, such as an event's.
      if (fields.size >= 7 && fields.size * 2 >= keys.length)
        this.approvalLists.push(this.#place(node, [...fields].join(' ')));
      if (isWireFile(this.file)) return;
      for (const key of keys)
        if (key !== undefined && /^[a-z]+(?:_[a-z0-9]+)+$/.test(key))
          this.snakeCaseProperties.push(this.#place(node, key));
    };
    const measureList = (node: Span, members: readonly object[]): void =>
      measureKeys(node, members.map(keyOf));
    const visitor: { readonly [type: string]: (node: never) => void } = {
      FunctionDeclaration: measureFunction,
      FunctionExpression: measureFunction,
      ArrowFunctionExpression: measureFunction,
      VariableDeclarator: (node: { readonly id: unknown }) => {
        for (const name of namesOf(node.id)) measureName(name);
      },
      ObjectExpression: (node: Span & { readonly properties: readonly object[] }) =>
        measureList(node, node.properties),
      ObjectPattern: (node: Span & { readonly properties: readonly object[] }) =>
        measureList(node, node.properties),
      TSTypeLiteral: (node: Span & { readonly members: readonly object[] }) =>
        measureList(node, node.members),
      TSInterfaceBody: (node: Span & { readonly body: readonly object[] }) => measureList(node, node.body),
    };
    new Visitor(visitor).visit(program);
    for (const [, name] of parametersOf(program)) measureName(name);
  }

  /** Statements of SQL in templates and texts that name at least seven fields. */
  #searchStatements(): void {
    for (const match of this.text.matchAll(/`[^`]*`|'[^'\n]*'/g)) {
      for (const statement of match[0].split(';')) {
        if (!/\b(?:SELECT|INSERT|UPDATE|CREATE TABLE)\b/.test(statement) || !/approvals/.test(statement))
          continue;
        const fields = new Set(
          (statement.match(/\b[a-z_]+\b/g) ?? []).filter((word) => approvalWords.has(word)),
        );
        if (fields.size >= 7)
          this.approvalLists.push(this.#place({ start: match.index, end: match.index }, 'SQL'));
      }
    }
  }
}

/** The name of a member of a literal or a type; undefined for a computed one. */
function keyOf(member: object): string | undefined {
  const { key, computed } = member as { readonly key?: { type?: string; name?: string }; computed?: boolean };
  return key?.type === 'Identifier' && computed !== true ? key.name : undefined;
}

/** The identifiers that a pattern declares. */
function namesOf(pattern: unknown): readonly unknown[] {
  // biome-ignore lint/suspicious/noExplicitAny: nodes of many types, read by shape.
  const node = pattern as any;
  if (node === null || node === undefined) return [];
  if (node.type === 'Identifier') return [node];
  if (node.type === 'ObjectPattern')
    return node.properties.flatMap((each: { value?: unknown; argument?: unknown }) =>
      namesOf(each.value ?? each.argument),
    );
  if (node.type === 'ArrayPattern') return node.elements.flatMap(namesOf);
  if (node.type === 'AssignmentPattern') return namesOf(node.left);
  if (node.type === 'RestElement') return namesOf(node.argument);
  return [];
}

/** Every parameter of every function in a tree, with its function. */
function* parametersOf(program: unknown): Generator<readonly [unknown, unknown]> {
  const waiting: unknown[] = [program];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== 'object' || node === null) continue;
    const { params } = node as { readonly params?: unknown };
    if (Array.isArray(params)) {
      for (const parameter of params) for (const name of namesOf(parameter)) yield [node, name];
    }
    for (const child of Object.values(node)) if (typeof child === 'object') waiting.push(child);
  }
}

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

const measures = codeFiles.map(({ file, text }) => new FileMeasures(file, text));
const places = {
  approvalLists: measures.flatMap((each) => each.approvalLists),
  longFunctions: measures.flatMap((each) => each.longFunctions),
  participleNames: measures.flatMap((each) => each.participleNames),
  snakeCaseProperties: measures.flatMap((each) => each.snakeCaseProperties),
  earlierVersions: productFiles.flatMap(({ file, text }) =>
    text
      .split('\n')
      .flatMap((line, at): readonly Place[] =>
        /\b(?:earlier|older|previous) (?:version|build|node|release)s?\b|\bbefore (?:this|that) version\b/i.test(
          line,
        )
          ? [{ file, line: at + 1, text: line.trim() }]
          : [],
      ),
  ),
};
const linesOf = (pattern: RegExp, without = /^$/): number =>
  productFiles
    .filter(({ file }) => pattern.test(file) && !without.test(file))
    .reduce((sum, { text }) => sum + lineCount(text), 0);
const fileLines = codeFiles.map(({ text }) => lineCount(text)).sort((a, b) => a - b);
/** Nouns whose fields are declared, not those with a file of that name alone. */
const rooms = new Set(
  codeFiles.flatMap(({ file, text }) =>
    /(?<![.\w])record\(\s*'/.test(text) ? (/^src\/([a-z]+)\/record(?:\.ts|\/)/.exec(file)?.[1] ?? []) : [],
  ),
);

const result = {
  'literals, types, SQL naming >= 7 fields of an approval': places.approvalLists.length,
  'nouns that declare a record': rooms.size,
  'files in src/{domain,app,api,handlers,ports,jobs}': tracked.filter((file) =>
    /^src\/(?:domain|app|api|handlers|ports|jobs)\//.test(file),
  ).length,
  'lines per file: median, p90, max': [
    percentile(fileLines, 0.5),
    percentile(fileLines, 0.9),
    fileLines.at(-1) ?? 0,
  ],
  'functions > 60 lines (components > 100; not tables)': places.longFunctions.length,
  'names that are participles': places.participleNames.length,
  'snake_case properties outside records, API files, http, adapters': places.snakeCaseProperties.length,
  'mentions of earlier versions': places.earlierVersions.length,
  'product lines': linesOf(/./),
  'sandbox lines, without profiles': linesOf(
    /^packages\/agent\/src\/rules\/sandbox\//,
    /\/sandbox\/profiles\/(?!build|check|profile|index)/,
  ),
  'redaction lines': linesOf(/^packages\/agent\/src\/rules\/redact(?:\.ts|\/)/),
  'generated lines committed': tracked
    .filter((file) => /(?:^|\/)generated\/|openapi.*\.json$/.test(file))
    .reduce((sum, file) => sum + lineCount(read(file)), 0),
  'CHANGELOG lines': lineCount(read('CHANGELOG.md')),
  'ARCHITECTURE lines': lineCount(read('ARCHITECTURE.md')),
};

const options = process.argv.slice(2);
const listed = options[0] === '--list' ? places[options[1] as keyof typeof places] : undefined;
if (options.length === 0) {
  for (const [name, value] of Object.entries(result))
    process.stdout.write(`${String(value).padStart(14)}  ${name}\n`);
} else if (options[0] === '--json') {
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} else if (listed) {
  for (const { file, line, text } of listed) process.stdout.write(`${file}:${line}: ${text}\n`);
} else {
  process.stderr.write(
    `Usage: npm run measure [-- --json | --list NAME]\nNames: ${Object.keys(places).join(', ')}\n`,
  );
  process.exitCode = options[0] === '--help' ? 0 : 2;
}
