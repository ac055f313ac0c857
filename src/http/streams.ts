// The opening of a live stream over HTTP or WebSocket: from an identified caller to a session. Sends nothing.

import { HubError } from '../shared/error.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import { readQuery } from './body.ts';
import type { Caller } from './contract/call.ts';
import type { RouteDeclaration } from './contract/route.ts';
import type { StreamHandlers, StreamQuery } from './contract/stream.ts';
import type { Live } from './live/live.ts';
import { codecOf, type Session, subprotocols } from './live/session.ts';
import type { Opening } from './live/stream.ts';
import type { RawRequest } from './raw.ts';
import { validate } from './validate.ts';

/**
 * Admits the caller and opens a session.
 * @param revocationSequence the count of revocations from before the caller was identified
 * @throws HubError of the admission; bad_request for a query or subprotocols that are not ours: some at once, some
 *   later
 */
export function openStream(
  raw: RawRequest,
  declaration: RouteDeclaration,
  caller: Caller,
  revocationSequence: number,
  ports: {
    readonly live: Live;
    readonly streams: StreamHandlers;
    readonly secrets: Pick<Secrets, 'token'>;
  },
): Promise<Session> {
  const { live, streams, secrets } = ports;
  const protocol = raw.upgrade ? chooseProtocol(raw.headers.get('sec-websocket-protocol')) : null;
  const query = readQuery(raw.query);
  const connectionId = secrets.token(12);
  const lastEventId = raw.headers.get('last-event-id') ?? query.last_event_id ?? '';
  const streamQuery: StreamQuery = Object.assign(query, {
    resumes: lastEventId !== '',
    transport: raw.upgrade ? 'websocket' : 'sse',
  } as const);
  const open = ({ admitted, caller }: Admitted): Promise<Session> =>
    live.open({
      admitted,
      caller,
      codec: raw.upgrade ? codecOf(protocol) : 'sse',
      protocol,
      isTraced: caller.kind === 'key' && query.trace === '1',
      lastEventId: lastEventId === '' ? null : lastEventId.slice(0, 64),
      revocationSequence,
    });
  if (declaration.stream === 'events') {
    if (caller.kind === 'none' || caller.kind === 'operator' || caller.kind === 'key') throw noSuchStream();
    const parameters = readQuery(raw.query, declaration.repeated ?? []);
    const validated = validate(declaration, { params: {}, query: parameters, body: undefined });
    return streams.admitEvents(caller, validated.query).then((events) => {
      live.checkReopening(events.caller);
      return open(events);
    });
  }
  if (caller.kind === 'none' || caller.kind === 'operator') throw noSuchStream();
  live.checkReopening(caller);
  if (raw.upgrade) live.admit(caller);
  if (caller.kind === 'hostedKey' || caller.kind === 'hostedOperator') {
    return streams.admitHosted(caller, streamQuery, connectionId).then(open);
  }
  // A fleet opens thousands at once: nothing is awaited here that makes a frame of its own for each.
  const admitted =
    caller.kind === 'key'
      ? streams.admitAgent(caller, streamQuery, connectionId)
      : streams.admitDashboard(caller, streamQuery, connectionId);
  return admitted.then((admitted) => open({ admitted, caller }));
}

type Admitted = Pick<Opening, 'admitted' | 'caller'>;

const noSuchStream = (): HubError =>
  new HubError('internal', 'The auth of a stream route must fit the stream.');

/** The first subprotocol offered that is ours; null when none was offered. */
function chooseProtocol(offered: string | undefined): string | null {
  if (!offered) return null;
  const names = offered.split(',').map((name) => name.trim());
  const subprotocol = names.find((name) => (subprotocols as readonly string[]).includes(name));
  if (subprotocol === undefined) {
    throw new HubError('bad_request', `Offer one of the subprotocols ${subprotocols.join(', ')}.`);
  }
  return subprotocol;
}
