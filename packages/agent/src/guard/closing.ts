// The end of a guard's connection: events that wait for a hub that is away, and events that are lost, are named, and
// the agent goes on.
import { emitWarning } from 'node:process';
import { HubConnectionError, HubResponseError, type OnError } from '../failure.ts';
import type { ServerSink } from '../sinks/server.ts';

const isAway = (failure: unknown): boolean =>
  failure instanceof HubConnectionError || (failure instanceof HubResponseError && failure.status >= 500);

/**
 * Closes the sink. A warning of the Node process contains the number of events lost before. With the hub away, another
 * one contains the number of waiting events and their file, or of events lost without a file. With all events in memory
 * delivered, a failure of the spool goes to `onError`.
 * @throws any other failure of the delivery, such as a revoked key
 */
export async function closeServerSink(
  sink: Pick<ServerSink, 'close' | 'isClosed' | 'size' | 'dropped' | 'refused'>,
  spoolFile: string | undefined,
  onError: OnError,
): Promise<void> {
  if (sink.isClosed) return;
  try {
    await sink.close();
  } catch (failure) {
    const isDelivered = sink.size === 0;
    if (!isDelivered && !isAway(failure)) throw failure;
    onError(failure, 'delivering the last audit events');
    if (isDelivered) return;
    const events = eventsOf(sink.size);
    const message =
      spoolFile === undefined
        ? `The hub is unreachable: ${events} were not delivered and are lost. Set spoolFile to keep them on disk.`
        : `The hub is unreachable: ${events} wait in ${spoolFile}. The next guard with this spoolFile sends them.`;
    emitWarning(message, { type: 'ReeveWarning', code: 'REEVE_EVENTS_LEFT' });
  } finally {
    const { dropped, refused } = sink;
    if (dropped + refused > 0) {
      const message =
        `The hub lacks ${eventsOf(dropped + refused)} of this guard: ${dropped} did not fit into the buffer, ` +
        `and the hub refused ${refused}.`;
      emitWarning(message, { type: 'ReeveWarning', code: 'REEVE_EVENTS_LOST' });
    }
  }
}

const eventsOf = (count: number): string => `${count} audit ${count === 1 ? 'event' : 'events'}`;
