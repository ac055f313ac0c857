// Decision events among the other frames of /v1/stream.

import { decisionFrame } from '../../event/frames.ts';
import type { StoredEvent } from '../../event/record.ts';
import { sessionOf } from '../../event/rules/decision.ts';
import { type Audience, type DecisionSource, eventsOf, type Frame } from '../../shared/frame.ts';
import type { Env } from '../../shared/ids.ts';

/** Written when somebody wants it. */
class DecisionFrame implements Frame {
  readonly audience: Audience;
  readonly type = decisionFrame;
  readonly agent: string;
  readonly event: StoredEvent;
  readonly #frame: Frame;

  constructor(frame: Frame, event: StoredEvent) {
    this.audience = frame.audience;
    this.agent = event.agentId;
    this.event = event;
    this.#frame = frame;
  }

  get json(): Uint8Array {
    return this.#frame.json;
  }
}

/** The decision events of a tenant, for streams that carry other frames too. */
export const decisionsOf = (tenantId: string): DecisionSource => ({
  audience: eventsOf(tenantId),
  toFrame: (frame) => (frame.event ? new DecisionFrame(frame, frame.event) : frame),
});

/** True for an event of another environment or session than a stream wants. @param sessionId null: any */
export const isElsewhere = (event: StoredEvent, env: Env, sessionId: string | null): boolean =>
  event.env !== env || (sessionId !== null && sessionOf(event) !== sessionId);
