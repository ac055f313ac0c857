// Answers of the proxy for calls that cannot go on.
import { denialResult } from '../../adapters/mcp-result.ts';
import { DeniedError } from '../../guard/call.ts';
import { type Era, modernVersion, versionOf } from './era.ts';
import {
  codes,
  failureOf,
  type Id,
  MessageError,
  type Request,
  type Response,
  type RpcError,
} from './message.ts';

/** A call that the server answered with an error: contracts see its text as they see a result's. */
export class CallError extends Error {
  readonly answer: Response;

  constructor(answer: Response, { message, data }: RpcError) {
    super(data === undefined ? message : `${message} ${JSON.stringify(data)}`);
    this.name = 'CallError';
    this.answer = answer;
  }
}

/** A request of a revision that the proxy does not serve. */
export const unsupported = (request: Request): Response => ({
  kind: 'response',
  id: request.id,
  error: {
    code: codes.unsupportedVersion,
    message: 'Unsupported protocol version',
    data: { supported: [modernVersion], requested: versionOf(request) },
  },
});

/** A result that ends no call, as an error that the model can read. */
export function unended({ id }: Response, era: Era, reason: string): CallError {
  const result = era.encode({ isError: true, content: [{ type: 'text', text: reason }] });
  return new CallError({ kind: 'response', id, result }, { code: codes.server, message: reason });
}

/** The answer to a call that failed, or was refused. */
export function answerOf(failure: unknown, era: Era, id: Id): Response {
  if (failure instanceof CallError) return failure.answer;
  if (failure instanceof DeniedError)
    return { kind: 'response', id, result: era.encode(denialResult(failure.message)) };
  if (failure instanceof MessageError) return failureOf(id, failure.code, failure.message);
  if (failure instanceof TypeError) return failureOf(id, codes.params, failure.message);
  return failureOf(id, codes.internal, failure instanceof Error ? failure.message : String(failure));
}
