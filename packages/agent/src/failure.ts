// The errors that callers of the agent library can catch, beside DeniedError (guard) and MarkEvictedError (collecting
// sink).

/** The hub answered, but not with success. A 4xx is never retried. */
export class HubResponseError extends Error {
  /** The HTTP status of the answer. */
  readonly status: number;
  /** The answer's body, cut at 64 KB. */
  readonly text: string;
  /** Seconds of the answer's Retry-After, when it had one. */
  readonly retryAfter: number | null;

  constructor(status: number, text: string, what: string, retryAfter: number | null = null) {
    super(`${what} was answered with ${status}: ${text.slice(0, 300)}`);
    this.name = 'HubResponseError';
    this.status = status;
    this.text = text;
    this.retryAfter = retryAfter;
  }
}

/** No answer came: refused, cut, or not in time. `cause` contains the reason. */
export class HubConnectionError extends Error {
  constructor(what: string, cause: unknown) {
    super(`cannot reach the hub: ${reasonOf(cause)} (${what})`, { cause });
    this.name = 'HubConnectionError';
  }
}

/** The system's word for it where there is one, such as ECONNREFUSED. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as NodeJS.ErrnoException;
  return typeof code === 'string' && /^E[A-Z]/.test(code) ? code : cause.message;
}

/** Events that wait for the hub fill their buffer: the record is lost to the hub. Other sinks have it. */
export class BufferFullError extends Error {
  /** @param maxEvents events that the buffer holds */
  constructor(maxEvents: number) {
    super(`${maxEvents} audit events wait for the hub already, so this one is not sent`);
    this.name = 'BufferFullError';
  }
}

/** The hub stored a batch without these events: it will never store them. */
export class EventsRejectedError extends Error {
  readonly events: readonly RejectedEvent[];

  constructor(events: readonly RejectedEvent[]) {
    const [first] = events;
    super(
      `the hub does not store ${events.length} of the audit events, ` +
        `among them ${first?.callId ?? 'one without a call id'}: ${first?.detail ?? ''}`,
    );
    this.name = 'EventsRejectedError';
    this.events = events;
  }
}

/** An event that the hub does not store. */
export interface RejectedEvent {
  /** Null: the hub could not read it. */
  readonly callId: string | null;
  /** Such as `forbidden`: the API key is not bound to the event's agent. */
  readonly code: string;
  /** A sentence for people. */
  readonly detail: string;
}

/** Contracts that cannot be used, or no bundle that an agent could start with. */
export class ConfigurationError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ConfigurationError';
  }
}

/** Told of what went wrong in the background; must not throw. `what` names the activity. */
export type OnError = (failure: unknown, what: string) => void;

/** The text for people about anything that was thrown. */
export const messageOf = (failure: unknown): string =>
  failure instanceof Error ? failure.message : String(failure);
