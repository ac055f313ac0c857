// The measures of one file, from its syntax tree: lists of an approval's fields, long functions, names.
import { parseSync, Visitor } from 'oxc-parser';
import { approvalFields } from '../src/approval/record.ts';
import { snake } from '../src/shared/snake-keys.ts';

const approvalWords = new Set(Object.keys(approvalFields).flatMap((name) => [name, snake(name)]));

const participles = new Set('found known asked given wanted told shown made named said seen'.split(' '));
/** Files in which words of the wire are snake_case: records, files of an API, http, adapters, the rule language. */
const isWireFile = (file: string): boolean =>
  /^(?:adapters|src\/http|src\/dashboard|packages\/agent\/src)\//.test(file) ||
  /\/(?:api|console|hosted|frames|record|records)(?:\/|[.-])/.test(file);
const maxFunctionLines = 60;
const maxComponentLines = 100;

export interface Place {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}
type Span = { readonly start: number; readonly end: number };

/** The places of one file, by measure. */
export class FileMeasures {
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
      if (!isTable(node.body) && lines > (isComponent ? maxComponentLines : maxFunctionLines))
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

/** True for an object or a list without methods: its length is the data's. */
function isTable(node: object): boolean {
  const { type } = node as { readonly type: string };
  return (type === 'ObjectExpression' || type === 'ArrayExpression') && !hasMethod(node);
}

/** True if a value in an object or a list, however deep, is a function. */
function hasMethod(node: unknown): boolean {
  const { type, properties, elements, value, argument } = (node ?? {}) as {
    readonly type?: string;
    readonly properties?: readonly unknown[];
    readonly elements?: readonly unknown[];
    readonly value?: unknown;
    readonly argument?: unknown;
  };
  if (type === 'ArrowFunctionExpression' || type === 'FunctionExpression') return true;
  if (type === 'Property') return hasMethod(value);
  if (type === 'SpreadElement') return hasMethod(argument);
  return (properties ?? elements ?? []).some(hasMethod);
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
