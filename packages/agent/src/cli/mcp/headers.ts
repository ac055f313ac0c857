// The headers of revision 2026-07-28 over HTTP, which repeat what stands in a request's body: written from a request,
// and compared with one.
import { type Fields, fieldsOf } from '../../fields.ts';
import type { Request } from './message.ts';

const prefix = 'Mcp-Param-';
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const encodedStart = '=?base64?';
const encodedEnd = '?=';
/** Decimal text that is compared as a number. */
const decimal = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
/** Depth of a schema in which declarations are looked for, and their count. */
const maxDepth = 32;
const maxDeclarations = 100;

/** The member of `params` that the header `Mcp-Name` repeats, by method. */
const nameMembers: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** An argument of a tool that its schema wants in a header. */
export interface ParamDeclaration {
  readonly header: string;
  readonly path: readonly string[];
  readonly isNumber: boolean;
}

/** The arguments that an input schema wants in headers (`x-mcp-header`). */
export function paramDeclarations(inputSchema: unknown): readonly ParamDeclaration[] {
  const declarations: ParamDeclaration[] = [];
  const visit = (schema: Fields, path: readonly string[]): void => {
    const { 'x-mcp-header': header, type, properties } = schema;
    const isPlain = type === 'string' || type === 'integer' || type === 'boolean' || type === 'number';
    if (path.length > 0 && typeof header === 'string' && token.test(header) && isPlain) {
      declarations.push({
        header: `${prefix}${header}`,
        path,
        isNumber: type === 'integer' || type === 'number',
      });
    }
    if (path.length >= maxDepth) return;
    for (const [name, property] of Object.entries(fieldsOf(properties))) {
      if (declarations.length >= maxDeclarations) return;
      visit(fieldsOf(property), [...path, name]);
    }
  };
  visit(fieldsOf(inputSchema), []);
  return declarations;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let node = value;
  for (const step of path) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, step)) return undefined;
    node = (node as Fields)[step];
  }
  return node;
}

/** A primitive as the text of a header; null: it has none. */
function textOfPrimitive(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  const isExact = typeof value === 'number' && (Number.isSafeInteger(value) || !Number.isInteger(value));
  return isExact && Number.isFinite(value) ? String(value) : null;
}

/** A text as the value of a header: as it is, or as base64 of its UTF-8 where a header cannot hold it. */
export function encodeHeader(text: string): string {
  const isPlain =
    /^[\t\x20-\x7e]+$/.test(text) &&
    text === text.trim() &&
    !(text.startsWith(encodedStart) && text.endsWith(encodedEnd));
  return isPlain ? text : `${encodedStart}${Buffer.from(text, 'utf8').toString('base64')}${encodedEnd}`;
}

/** The text in the value of a header; null: its encoding is not valid. */
export function decodeHeader(value: string): string | null {
  const trimmed = value.trim();
  if (!trimmed.startsWith(encodedStart) || !trimmed.endsWith(encodedEnd)) return trimmed;
  const encoded = trimmed.slice(encodedStart.length, trimmed.length - encodedEnd.length);
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The headers of a request, beside those of the connection. */
export function headersOf(
  { method, params }: Request,
  version: string,
  declarations: readonly ParamDeclaration[] = [],
): { [name: string]: string } {
  const headers: { [name: string]: string } = { 'MCP-Protocol-Version': version, 'Mcp-Method': method };
  const name = params[nameMembers.get(method) ?? ''];
  if (typeof name === 'string') headers['Mcp-Name'] = encodeHeader(name);
  for (const { header, path } of declarations) {
    const text = textOfPrimitive(valueAt(params.arguments, path) ?? null);
    if (text !== null) headers[header] = encodeHeader(text);
  }
  return headers;
}

type ReadHeader = (name: string) => string | null;

/** Difference between the standard headers and the request; null: there is none. */
export function headerMismatch(request: Request, version: string, read: ReadHeader): string | null {
  for (const [name, expected] of Object.entries(headersOf(request, version))) {
    const sent = read(name);
    if (sent === null) return `the header ${name} is missing`;
    const text = name === 'Mcp-Name' ? decodeHeader(sent) : sent.trim();
    if (text === null) return `the header ${name} is not valid base64`;
    if (text !== expected && text !== decodeHeader(expected))
      return `the header ${name} is not that of the body`;
  }
  return null;
}

/** The same for the headers that repeat arguments of a call. */
export function paramMismatch(
  { params }: Request,
  declarations: readonly ParamDeclaration[],
  read: ReadHeader,
): string | null {
  for (const { header, path, isNumber } of declarations) {
    const value = valueAt(params.arguments, path) ?? null;
    const expected = textOfPrimitive(value);
    if (expected === null) continue;
    const sent = read(header);
    if (sent === null) return `the header ${header} is missing`;
    const text = decodeHeader(sent);
    if (text === null) return `the header ${header} is not valid base64`;
    const isSameNumber =
      isNumber && typeof value === 'number' && decimal.test(text) && Number(text) === value;
    if (text !== expected && !isSameNumber)
      return `the header ${header} is not the argument ${path.join('.')}`;
  }
  return null;
}
