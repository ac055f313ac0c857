// Failures of calls to other services, in a closed list. The sentences hold nothing that the other side sent.

/** Reasons why a call came to nothing. */
const failures = [
  ['refused', 'The address is not allowed. Use an https URL with a public host.'],
  ['unresolved', 'The host name has no address. Check the name.'],
  ['connection', 'The connection failed or broke. Check the address and the network.'],
  ['timeout', 'The receiver did not answer in time.'],
  ['too_large', 'The answer is too large.'],
  ['aborted', 'The call was cancelled.'],
] as const;

export type OutboundFailure = (typeof failures)[number][0];
const sentences: ReadonlyMap<OutboundFailure, string> = new Map(failures);

/** Thrown by shared/ports/outbound.ts. `message` may be shown to who configured the address. */
export class OutboundError extends Error {
  readonly failure: OutboundFailure;

  constructor(failure: OutboundFailure, message = sentences.get(failure) ?? failure) {
    super(message);
    this.name = 'OutboundError';
    this.failure = failure;
  }
}
