// The SharedWorker with one connection for all tabs of a person. Its name contains the user id, so another person gets
// another worker.
import { now } from '../lib/browser.ts';
import { LiveConnection, type LiveStatus } from './connection.ts';
import { type FleetFrame, isFleet } from './fleet.ts';

/** Messages from tabs to the worker. */
export type ToWorker = { readonly kind: 'retry' } | { readonly kind: 'close' } | { readonly kind: 'leave' };
/** Messages from the worker to tabs. */
export type FromWorker =
  | { readonly kind: 'frame'; readonly frame: { readonly type: string } }
  | { readonly kind: 'status'; readonly status: LiveStatus };

const ports = new Set<MessagePort>();
let connection: LiveConnection | null = null;
/** The latest figures of each environment, for later tabs: a stream sends them only initially and after a change. */
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
    // The person's other tabs receive no more frames, so they must not continue to display *Live*.
    if (data.kind === 'close') {
      tell({ kind: 'status', status: { state: 'signed_out', since: now(), nextTry: null } });
    }
  };
  port.start();
  // After a logout or an expired session, the next tab opens a new connection.
  if (connection?.status.state === 'signed_out') end();
  connection ??= new LiveConnection(scope.location.origin, {
    frame: (frame) => {
      if (isFleet(frame)) fleet.set(frame.env, frame);
      tell({ kind: 'frame', frame });
    },
    status: (status) => {
      if (status.state === 'live') fleet.clear();
      tell({ kind: 'status', status });
    },
  });
  port.postMessage({ kind: 'status', status: connection.status } satisfies FromWorker);
  for (const frame of fleet.values()) port.postMessage({ kind: 'frame', frame } satisfies FromWorker);
};
