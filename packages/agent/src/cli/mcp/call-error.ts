// Answers of the proxy for calls that cannot go on.
import { type Era, modernVersion, versionOf } from './era.ts';
import { codes, type Request, type Response, type RpcError } from './message.ts';

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
