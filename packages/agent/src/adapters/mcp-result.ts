// Results of MCP tools as a guard reads and replaces them, for the adapter of MCP servers and for the proxy. Everything
// in a result reaches the client, so everything in it is judged.
import { isObject } from '../fields.ts';
import type { RunOptions } from '../guard/call.ts';

/** Result of a tool handler. */
export interface McpResult {
  readonly content?: readonly {
    readonly type: string;
    readonly text?: string;
    readonly resource?: { readonly text?: string };
  }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  /** Of revision 2026-07-28: `input_required` ends no call. */
  readonly resultType?: string;
  readonly requestState?: string;
}

/** True for a result that asks for input and ends no call. */
export const isInputRequired = (result: McpResult | null | undefined): boolean =>
  result?.resultType === 'input_required';

/** Options with which a guard judges results of MCP tools. */
export const mcpRunOptions: RunOptions<McpResult> = {
  success: (result) => result?.isError !== true,
  outputText: judgedText,
  resultFields: (result) => result?.structuredContent,
  // The judged result is replaced as a whole: no other member of the result accompanies the remaining text.
  replaceText: (result, text) => ({
    content: [{ type: 'text', text }],
    // Without it the SDK would insist on the structure that a tool declares.
    ...(result?.isError === true || result?.structuredContent !== undefined || isInputRequired(result)
      ? { isError: true }
      : {}),
  }),
};

/** A denial as a result that the model can read. */
export const denialResult = (reason: string): McpResult => ({
  isError: true,
  content: [{ type: 'text', text: `Denied: ${reason}` }],
});

/** The texts of the content, each on lines of its own, then the structure and all that is left as JSON. */
function judgedText(result: unknown): string {
  if (!isObject(result)) return JSON.stringify(result) ?? '';
  const { content, structuredContent, isError, ...members } = result;
  // Words of the protocol, and a state that the client cannot read.
  const { resultType: _type, requestState: _state, ...questions } = members;
  const others = isInputRequired(result) ? questions : members;
  const texts: string[] = [];
  const left = Array.isArray(content) ? content.flatMap((part) => takeTexts(part, texts)) : [];
  if (structuredContent !== undefined) texts.push(JSON.stringify(structuredContent));
  const rest = {
    ...others,
    ...(left.length > 0 ? { content: left } : {}),
    ...(Array.isArray(content) || content === undefined ? {} : { content }),
    ...(typeof isError === 'boolean' || isError === undefined ? {} : { isError }),
  };
  if (Object.keys(rest).length > 0) texts.push(JSON.stringify(rest));
  return texts.join('\n');
}

const standardTypes: readonly unknown[] = ['text', 'image', 'audio', 'resource', 'resource_link'];

/** Adds the texts of a part of the content. @returns what else the part has; empty when it has nothing else */
function takeTexts(part: unknown, texts: string[]): unknown[] {
  if (!isObject(part)) return [part];
  const { type, text, data, resource, ...others } = part;
  const left: { [name: string]: unknown } = { ...others };
  if (!standardTypes.includes(type)) left.type = type;
  takeText(text, 'text', left, texts);
  takeBytes(data, 'data', left, texts);
  if (isObject(resource)) {
    const { text: inner, blob, ...more } = resource;
    const around: { [name: string]: unknown } = { ...more };
    takeText(inner, 'text', around, texts);
    takeBytes(blob, 'blob', around, texts);
    if (Object.keys(around).length > 0) left.resource = around;
  } else if (resource !== undefined) left.resource = resource;
  return Object.keys(left).length > 0 ? [left] : [];
}

function takeText(text: unknown, name: string, left: { [name: string]: unknown }, texts: string[]): void {
  if (typeof text === 'string') texts.push(text);
  else if (text !== undefined) left[name] = text;
}

/** Characters up to which base64 is judged as it is written, too: it may be no base64 at all. */
const maxWrittenBlob = 256;

/** Bytes in base64 are judged as the text that they are in UTF-8; other bytes are no text, and are not judged. */
function takeBytes(blob: unknown, name: string, left: { [name: string]: unknown }, texts: string[]): void {
  if (typeof blob !== 'string') {
    if (blob !== undefined) left[name] = blob;
    return;
  }
  const isBase64 = blob.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(blob);
  if (!isBase64 || blob.length <= maxWrittenBlob) texts.push(blob);
  try {
    // Readers are lenient: they take the alphabet of URLs, and blanks.
    texts.push(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(blob, 'base64')));
  } catch {
    // An image, for instance.
  }
}
