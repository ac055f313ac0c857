// Work at once, waiting and refusal: the one mechanism behind the classes of admission/table.ts. The work of callers
// over time is counted by admission/rate-limit.ts.

import type { Awaitable } from '../shared/concurrency/awaitable.ts';
import {
  acquireFrom,
  type Client,
  holding,
  type Permit,
  Semaphores,
  type Settle,
} from '../shared/concurrency/semaphore.ts';
import { HubError } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { AdmissionClass, AdmittedPer, Bound, Refusal } from './admission-class.ts';
import { callerNames, type LimitedCaller } from './caller-name.ts';
import { type AdmissionName, admissionTable } from './table.ts';

/** Everything that a place may be counted for, as far as it applies. */
export interface AdmissionSubject {
  readonly tenantId?: string;
  /** Of a request with credentials. */
  readonly caller?: LimitedCaller;
  /** A name in the tenant. */
  readonly person?: string;
  /** As it was sent. */
  readonly credential?: string;
}

type KeysOf = { readonly [per in AdmittedPer]?: (subject: AdmissionSubject) => string | null };

/** Null: the bound does not apply to the subject. */
const keyOf = {
  node: () => '',
  tenant: ({ tenantId }) => tenantId ?? null,
  user: ({ caller }) => (caller && !('keyId' in caller) ? callerNames.requestsOf(caller) : null),
  agent: ({ caller }) => (caller && 'keyId' in caller ? callerNames.searchesOfAgent(caller) : null),
  person: ({ tenantId, person }) => (person === undefined ? null : `${tenantId}/${person}`),
  credential: ({ credential }) => credential ?? null,
} satisfies KeysOf;

type CountsPlaces<N extends AdmissionName> = (typeof admissionTable)[N]['bounds'][number] extends {
  readonly per: keyof typeof keyOf;
  readonly atOnce: number;
}
  ? N
  : never;
/** A class that counts what of its subjects runs at once. */
export type PlaceClass = { [N in AdmissionName]: CountsPlaces<N> }[AdmissionName];

/** The error of a refusal in the table. */
export const toHubError = ({ code, message, retryAfter, reason, mayBeStored }: Refusal): HubError =>
  new HubError(code, message, {
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(reason === undefined ? {} : { reason }),
    ...(mayBeStored === undefined ? {} : { mayBeStored }),
  });

/** The error of a class. */
export const refusalOf = (name: AdmissionName): HubError => {
  const { refusal }: AdmissionClass = admissionTable[name];
  return toHubError(refusal ?? { code: 'overloaded', message: 'The hub is overloaded. Try again shortly.' });
};

interface OpenBound {
  readonly semaphores: Semaphores;
  readonly keyOf: (subject: AdmissionSubject) => string | null;
  readonly acquire: (key: string) => Awaitable<Permit>;
}

export class Admission {
  readonly #clock: Clock;
  /** Classes that were used, by name. */
  readonly #classes = new Map<PlaceClass, readonly OpenBound[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Keys that hold a place of the class, over its bounds. */
  held(name: PlaceClass): number {
    return this.#boundsOf(name).reduce((sum, { semaphores }) => sum + semaphores.size, 0);
  }

  /**
   * A permit of each bound of the class, at once or when it is the subject's turn. The holder gives it back.
   * @throws HubError the refusal of the class: as a rejection
   */
  admit(subject: AdmissionSubject, name: PlaceClass): Awaitable<Permit> {
    return admitTo(this.#boundsOf(name), 0, subject, []);
  }

  /** Runs a task with a permit of the class, and gives it back however the task ends. @throws HubError as `admit` */
  async run<T>(subject: AdmissionSubject, name: PlaceClass, task: () => Promise<T>): Promise<T> {
    const permit = this.admit(subject, name);
    return holding(permit instanceof Promise ? await permit : permit, task);
  }

  /** The same for the caller of a request; one without a tenant is not counted. */
  runFor<T>(
    caller: LimitedCaller & { readonly tenantId?: string },
    name: PlaceClass,
    task: () => Promise<T>,
  ): Promise<T> {
    const { tenantId } = caller;
    return tenantId === undefined ? task() : this.run({ tenantId, caller }, name, task);
  }

  /** A permit of the class's first bound, without a wait. @throws HubError the refusal of the class, at once */
  take(subject: AdmissionSubject, name: PlaceClass): Permit {
    const [bound] = this.#boundsOf(name);
    const key = bound?.keyOf(subject) ?? '';
    const permit = bound?.semaphores.take(key);
    if (!permit) throw refusalOf(name);
    return permit;
  }

  /**
   * A permit of the class's first bound without a promise, for thousands that wait at once. `settle` receives it, at
   * once or later, or null in place of the refusal; neither if the client leaves before.
   */
  enter(subject: AdmissionSubject, name: PlaceClass, client: Client, settle: Settle): void {
    const [bound] = this.#boundsOf(name);
    const key = bound?.keyOf(subject) ?? '';
    const permit = bound?.semaphores.take(key) ?? null;
    if (permit || !bound?.semaphores.wait(key, settle, client)) settle(permit);
  }

  #boundsOf(name: PlaceClass): readonly OpenBound[] {
    let bounds = this.#classes.get(name);
    if (!bounds) {
      const { ms, bounds: declared }: AdmissionClass = admissionTable[name];
      bounds = declared.map((bound) => this.#open(name, bound, ms));
      this.#classes.set(name, bounds);
    }
    return bounds;
  }

  #open(name: PlaceClass, { per, atOnce = 0, waiting = 0 }: Bound, ms: number | undefined): OpenBound {
    const maxWait = ms === undefined ? {} : { maxWait: { ms, clock: this.#clock } };
    const semaphores = new Semaphores({ max: atOnce, maxWaiting: waiting, ...maxWait });
    const ofSubject = (keyOf as KeysOf)[per];
    if (!ofSubject) throw new Error(`no subject of ${name} has a ${per}`);
    return { semaphores, keyOf: ofSubject, acquire: acquireFrom(semaphores, () => refusalOf(name)) };
  }
}

/** @param held the permits of the bounds before */
function admitTo(
  bounds: readonly OpenBound[],
  from: number,
  subject: AdmissionSubject,
  held: Permit[],
): Awaitable<Permit> {
  for (let i = from; i < bounds.length; i++) {
    const bound = bounds[i];
    const key = bound?.keyOf(subject) ?? null;
    if (!bound || key === null) continue;
    const permit = bound.acquire(key);
    if (permit instanceof Promise) {
      const next = (granted: Permit) => admitTo(bounds, i + 1, subject, [...held, granted]);
      return permit.then(next, (refusal) => {
        releaseAll(held);
        throw refusal;
      });
    }
    held.push(permit);
  }
  return held.length === 1 && held[0] ? held[0] : { release: () => releaseAll(held) };
}

/** The newest first. */
function releaseAll(held: readonly Permit[]): void {
  for (let i = held.length - 1; i >= 0; i--) held[i]?.release();
}
