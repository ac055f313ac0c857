// The SharedWorker that keeps one connection for all tabs of a person. Its name carries the user's id, so another login
// is another worker.
import { now } from '../lib/browser.ts';
import { LiveConnection, type LiveStatus } from './connection.ts';
import { type FleetFrame, isFleet } from './fleet.ts';

/** What tabs tell the worker. */
export type ToWorker = { readonly kind: 'retry' } | { readonly kind: 'close' } | { readonly kind: 'leave' };
/** What the worker tells tabs. */
export type FromWorker =
  | { readonly kind: 'frame'; readonly frame: { readonly type: string } }
  | { readonly kind: 'status'; readonly status: LiveStatus };

const ports = new Set<MessagePort>();
let connection: LiveConnection | null = null;
/** The newest of each environment, for tabs that come later: the stream says them at connect and when they change. */
const fleet = new Map<string, FleetFrame>();

function tell(message: FromWorker): void {
  for (const port of ports) port.postMessage(message);
}

function end(): void {
  connection?.close();
  fleet.clear();
  connection = null;
}

const scope = globalThis as unknown as { onconnect: (event: MessageEvent) => void; location: Location };
scope.onconnect = ({ ports: [port] }) => {
  if (!port) return;
  ports.add(port);
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data.kind === 'retry') connection?.retry();
    if (data.kind === 'retry') return;
    ports.delete(port);
    if (data.kind === 'close' || ports.size === 0) end();
    // The other tabs of who signed out hear no more: they must not go on saying Live.
    if (data.kind === 'close') {
      tell({ kind: 'status', status: { state: 'signed_out', since: now(), nextTry: null } });
    }
  };
  port.start();
  // A connection that was closed by a logout or ended with its session starts anew with the next tab.
  if (connection?.status.state === 'signed_out') end();
  connection ??= new LiveConnection(scope.location.origin, {
    frame: (frame) => {
      if (isFleet(frame)) fleet.set(frame.env, frame);
      tell({ kind: 'frame', frame });
    },
    status: (status) => tell({ kind: 'status', status }),
  });
  port.postMessage({ kind: 'status', status: connection.status } satisfies FromWorker);
  for (const frame of fleet.values()) port.postMessage({ kind: 'frame', frame } satisfies FromWorker);
};
