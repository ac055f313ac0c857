// JSON-RPC 2.0 messages of the Model Context Protocol: read from text, and rebuilt from the members that the protocol
// knows, so that what is judged is what is sent: no second `method` or `Params` that another parser would read instead.

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
  /** The text it came as, where it came alone: handed on as it is, numbers beyond those of JavaScript included. */
  readonly raw?: string;
}

export type Message = Request | Notification | Response;

/** Error codes of JSON-RPC, and one that MCP servers use for what is theirs. */
export const codes = {
  parse: -32700,
  invalid: -32600,
  params: -32602,
  internal: -32603,
  server: -32000,
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
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isId = (value: unknown): value is Id =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));

/** One message, or those of a batch. @throws MessageError */
export function readMessages(text: string): Message[] {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw new MessageError(codes.parse, 'the message is not JSON');
  }
  if (!Array.isArray(read)) return [messageOf(read, text)];
  if (read.length === 0) throw new MessageError(codes.invalid, 'the batch is empty');
  return read.map((one) => messageOf(one));
}

function messageOf(value: unknown, raw?: string): Message {
  if (!isObject(value)) throw new MessageError(codes.invalid, 'a message must be an object');
  const { id, method, params = {}, result, error } = value;
  if (method === undefined) {
    if (!isId(id)) throw new MessageError(codes.invalid, 'a response must have the id of its request');
    if (isObject(error)) {
      const { code, message, data } = error;
      return {
        kind: 'response',
        id,
        error: {
          code: typeof code === 'number' ? code : codes.internal,
          message: String(message),
          ...(data === undefined ? {} : { data }),
        },
        ...(raw === undefined ? {} : { raw }),
      };
    }
    if (result === undefined)
      throw new MessageError(codes.invalid, 'a message must have a method or a result');
    return { kind: 'response', id, result, ...(raw === undefined ? {} : { raw }) };
  }
  const known = isId(id) ? id : null;
  if (typeof method !== 'string') throw new MessageError(codes.invalid, 'method must be text', known);
  if (!isObject(params)) throw new MessageError(codes.params, 'params must be an object', known);
  if (id === undefined) return { kind: 'notification', method, params };
  if (known === null) throw new MessageError(codes.invalid, 'an id must be text or a number');
  return { kind: 'request', id: known, method, params };
}

/** The message as text, without a line end. */
export function textOf(message: Message): string {
  if (message.kind === 'response') {
    const { id, result, error, raw } = message;
    return raw ?? JSON.stringify({ jsonrpc: '2.0', id, ...(error ? { error } : { result }) });
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
  /** With the members above, and no other that some parser takes for one of them. */
  readonly request: Request;
}

/** @throws MessageError for a call that could be read as another one than is judged, or as a task */
export function toolCallOf({ id, method, params }: Request): ToolCall {
  const wrong = (message: string): MessageError => new MessageError(codes.params, message, id);
  const { name, arguments: args = {}, task, _meta: meta } = params;
  if (typeof name !== 'string') throw wrong('a call needs the name of its tool');
  if (!isObject(args)) throw wrong('the arguments of a call must be an object');
  if (task !== undefined) throw wrong('calls as tasks are not governed: make the call without `task`');
  const twin = Object.keys(params).find(
    (key) => key !== key.toLowerCase() && ['name', 'arguments', 'task', '_meta'].includes(key.toLowerCase()),
  );
  if (twin !== undefined) throw wrong(`there is no member ${twin} in a call`);
  if (holdsInexact(args))
    throw wrong('a number in the arguments is too large to be judged exactly: send it as text');
  const token = isObject(meta) ? meta.progressToken : undefined;
  return {
    name,
    args,
    progressToken: isId(token) ? token : null,
    request: { kind: 'request', id, method, params: { ...params, name, arguments: args } },
  };
}

/** Whether reading the JSON may have changed a whole number. */
function holdsInexact(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(holdsInexact);
}
