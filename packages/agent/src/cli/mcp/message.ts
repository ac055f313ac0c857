// JSON-RPC 2.0 messages of the Model Context Protocol: read from text, and rebuilt from the members that the protocol
// knows, so that the guard judges what is sent. No second `method` or `Params` is left that another parser would read
// instead.
import { foldCase } from '../../rules/fold.ts';
import {
  exactNumbers,
  readStrictJson,
  StrictJsonError,
  WrittenNumber,
  writeStrictJson,
} from '../../rules/strict-json.ts';

export type Id = string | number;

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

type Params = { readonly [name: string]: unknown };

export interface Request {
  readonly kind: 'request';
  readonly id: Id;
  readonly method: string;
  readonly params: Params;
}

export interface Notification {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: Params;
}

export interface Response {
  readonly kind: 'response';
  readonly id: Id;
  readonly result?: unknown;
  readonly error?: RpcError;
  /** The text it came as, where it came alone and has no member that the protocol does not know: handed on as it is. */
  readonly raw?: string;
}

export type Message = Request | Notification | Response;

/** Error codes of JSON-RPC and of MCP, and one that MCP servers use for what is theirs. */
export const codes = {
  parse: -32700,
  invalid: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  server: -32000,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** Bytes of one message. */
export const maxMessage = 16 * 1024 * 1024;

/** The text is no message. `id` is its request's, where it could be read. */
export class MessageError extends Error {
  readonly code: number;
  readonly id: Id | null;

  constructor(code: number, message: string, id: Id | null = null) {
    super(message);
    this.name = 'MessageError';
    this.code = code;
    this.id = id;
  }
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof WrittenNumber);

const isId = (value: unknown): value is Id =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));

/** A reader for the one message of a text, or for each of its batch. @throws MessageError, as do the readers */
function membersOf(text: string): (() => Message)[] {
  const json = readJson(text);
  if (!Array.isArray(json)) return [() => messageOf(json, text)];
  if (json.length === 0) throw new MessageError(codes.invalid, 'the batch is empty');
  return json.map((one) => () => messageOf(one));
}

/** One message, or those of a batch. @throws MessageError */
export const readMessages = (text: string): Message[] => membersOf(text).map((read) => read());

/** Ids of the requests or of the responses in a text that is refused. */
const idsIn = (text: string, kind: 'request' | 'response'): readonly Id[] =>
  [looseJson(text)].flat().flatMap((one) => {
    const { id, method } = isObject(one) ? one : {};
    return isId(id) && (method === undefined) === (kind === 'response') ? [id] : [];
  });

function messageErrorOf(failure: unknown): MessageError {
  if (failure instanceof MessageError) return failure;
  throw failure;
}

/** Messages of a client. A batch gives an error in the place of each member that is no message. */
export function readClientMessages(text: string): (Message | MessageError)[] {
  let members: (() => Message)[];
  try {
    members = membersOf(text);
  } catch (failure) {
    const { code, message, id } = messageErrorOf(failure);
    const ids = idsIn(text, 'request');
    return (ids.length > 0 ? ids : [id]).map((own) => new MessageError(code, message, own));
  }
  return members.map((read) => {
    try {
      return read();
    } catch (failure) {
      return messageErrorOf(failure);
    }
  });
}

/**
 * Messages of a server. A text with answers that cannot be judged gives an error in the place of each answer, so that
 * nobody waits for one.
 * @throws MessageError for a text without answers that is no message
 */
export function readServerMessages(text: string): Message[] {
  try {
    return readMessages(text);
  } catch (failure) {
    const { message } = messageErrorOf(failure);
    const ids = idsIn(text, 'response');
    if (ids.length === 0) throw failure;
    const reason = `the MCP server's answer is not valid: ${message}`;
    return ids.map((id) => failureOf(id, codes.server, reason));
  }
}

/** @throws MessageError */
function readJson(text: string): unknown {
  try {
    return readStrictJson(text, { numbers: 'written' });
  } catch (failure) {
    if (!(failure instanceof StrictJsonError)) throw failure;
    const loose = looseJson(text);
    if (loose === undefined) throw new MessageError(codes.parse, 'the message is not JSON');
    const { id } = isObject(loose) ? loose : {};
    throw new MessageError(
      codes.invalid,
      `the message is not valid: ${failure.message}`,
      isId(id) ? id : null,
    );
  }
}

/** For finding out whom to answer, and nothing else. Undefined: no JSON. */
function looseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const hasOnly = (value: object, members: readonly string[]): boolean =>
  Object.keys(value).every((name) => members.includes(name));

function messageOf(value: unknown, raw?: string): Message {
  if (!isObject(value)) throw new MessageError(codes.invalid, 'a message must be an object');
  const { method } = value;
  if (method === undefined) return responseOf(value, raw);
  const id = value.id instanceof WrittenNumber ? exactly(value.id, null) : value.id;
  const knownId = isId(id) ? id : null;
  if (typeof method !== 'string') throw new MessageError(codes.invalid, 'method must be a string', knownId);
  if (method !== 'tools/call' && foldCase(method) === 'tools/call') {
    throw new MessageError(codes.invalid, `the method ${method} does not exist`, knownId);
  }
  const params = exactly(value.params ?? {}, knownId);
  if (!isObject(params)) throw new MessageError(codes.params, 'params must be an object', knownId);
  if (id === undefined) return { kind: 'notification', method, params };
  if (knownId === null) throw new MessageError(codes.invalid, 'an id must be a string or a number');
  return { kind: 'request', id: knownId, method, params };
}

/** @throws MessageError */
function exactly(value: unknown, id: Id | null): unknown {
  try {
    return exactNumbers(value);
  } catch (failure) {
    if (!(failure instanceof StrictJsonError)) throw failure;
    throw new MessageError(codes.params, failure.message.replace(/ \(at character \d+\)$/, ''), id);
  }
}

function responseOf(value: { readonly [name: string]: unknown }, raw?: string): Response {
  const { result, error } = value;
  const id = value.id instanceof WrittenNumber ? exactly(value.id, null) : value.id;
  if (!isId(id)) throw new MessageError(codes.invalid, 'a response must have the id of its request');
  const asItCame = (members: readonly string[]) =>
    raw !== undefined && value.jsonrpc === '2.0' && hasOnly(value, ['jsonrpc', 'id', ...members])
      ? { raw }
      : {};
  if (isObject(error)) {
    const { code, message, data } = error;
    const isPlain =
      typeof code === 'number' && typeof message === 'string' && hasOnly(error, ['code', 'message', 'data']);
    return {
      kind: 'response',
      id,
      error: {
        code: typeof code === 'number' ? code : codes.internal,
        message: typeof message === 'string' ? message : writeStrictJson(message),
        ...(data === undefined ? {} : { data }),
      },
      ...(isPlain ? asItCame(['error']) : {}),
    };
  }
  if (result === undefined) throw new MessageError(codes.invalid, 'a message must have a method or a result');
  return { kind: 'response', id, result, ...asItCame(['result']) };
}

/** The message as text, without a line end. */
export function textOf(message: Message): string {
  if (message.kind === 'response') {
    const { id, result, error, raw } = message;
    return raw ?? writeStrictJson({ jsonrpc: '2.0', id, ...(error ? { error } : { result }) });
  }
  const { method, params } = message;
  const some = Object.keys(params).length > 0 ? { params } : {};
  return JSON.stringify({
    jsonrpc: '2.0',
    ...(message.kind === 'request' ? { id: message.id } : {}),
    method,
    ...some,
  });
}

export const failureOf = (id: Id, code: number, message: string): Response => ({
  kind: 'response',
  id,
  error: { code, message },
});

/** A call of a tool as it is judged and sent on. */
export interface ToolCall {
  readonly name: string;
  readonly args: Params;
  readonly progressToken: Id | null;
  /** With name, arguments, progress token and what the revision requires: what was not judged is not sent. */
  readonly request: Request;
}

const callMembers = ['name', 'arguments', 'task', '_meta'];

/**
 * @param eraMeta members of `_meta` that the revision requires
 * @param isModern in revision 2026-07-28, `task` has no meaning, and is not sent on
 * @throws MessageError for a call that could be read as another one than is judged, or as a task
 */
export function toolCallOf(
  { id, method, params }: Request,
  eraMeta: Params = {},
  isModern = false,
): ToolCall {
  const wrong = (message: string): MessageError => new MessageError(codes.params, message, id);
  const { name, arguments: args = {}, task, _meta: meta } = params;
  if (typeof name !== 'string') throw wrong('a call must name its tool');
  if (!isObject(args)) throw wrong('the arguments of a call must be an object');
  if (task !== undefined && !isModern)
    throw wrong('contracts cannot govern calls as tasks: make the call without `task`');
  const twin = Object.keys(params).find(
    (member) => !callMembers.includes(member) && callMembers.includes(foldCase(member)),
  );
  if (twin !== undefined) throw wrong(`a call cannot have a member ${twin}`);
  const token = isObject(meta) ? meta.progressToken : undefined;
  const progressToken = isId(token) ? token : null;
  const sentMeta = { ...eraMeta, ...(progressToken === null ? {} : { progressToken }) };
  return {
    name,
    args,
    progressToken,
    request: {
      kind: 'request',
      id,
      method,
      params: { name, arguments: args, ...(Object.keys(sentMeta).length === 0 ? {} : { _meta: sentMeta }) },
    },
  };
}
