// The end of a guard's connection while the hub is away: events that wait are named, and the agent goes on.
import { emitWarning } from 'node:process';
import { HubConnectionError, HubResponseError, type OnError } from '../failure.ts';
import type { ServerSink } from '../sinks/server.ts';

const isAway = (failure: unknown): boolean =>
  failure instanceof HubConnectionError || (failure instanceof HubResponseError && failure.status >= 500);

/**
 * Closes the sink. With the hub away, a warning of the Node process contains the number of waiting events and their
 * file, or of events lost without a file.
 * @throws any other failure of the delivery, such as a revoked key
 */
export async function closeServerSink(
  sink: Pick<ServerSink, 'close' | 'size'>,
  spoolFile: string | undefined,
  onError: OnError,
): Promise<void> {
  try {
    await sink.close();
  } catch (failure) {
    if (!isAway(failure)) throw failure;
    onError(failure, 'delivering the last audit events');
    const events = `${sink.size} audit ${sink.size === 1 ? 'event' : 'events'}`;
    const message =
      spoolFile === undefined
        ? `The hub is unreachable: ${events} were not delivered and are lost. Set spoolFile to keep them on disk.`
        : `The hub is unreachable: ${events} wait in ${spoolFile}. The next guard with this spoolFile sends them.`;
    emitWarning(message, { type: 'ReeveWarning', code: 'REEVE_EVENTS_LEFT' });
  }
}
