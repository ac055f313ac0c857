// Sinks for audit records: the interface, and the composite of several sinks. Sinks do not redact; the guard did.
import type { AuditRecord } from '../record.ts';

export interface Sink {
  /**
   * Takes the record. Resolves when the sink has done what it promises; a rejection never loses the record for other
   * sinks.
   */
  emit(record: AuditRecord): Promise<void>;
  /** Delivers what is held and releases files and timers. A repeat is harmless. */
  close?(): Promise<void>;
}

async function tryAll(tasks: Iterable<() => Promise<void>>, message: string): Promise<void> {
  const failures: unknown[] = [];
  for (const task of tasks) {
    try {
      await task();
    } catch (failure) {
      failures.push(failure);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, message);
}

/** Emits to every sink in order, always tries all, then throws an AggregateError of what failed. */
export class CompositeSink implements Sink {
  readonly sinks: readonly Sink[];

  /** @throws RangeError without any sink */
  constructor(sinks: readonly Sink[]) {
    if (sinks.length === 0) throw new RangeError('a composite sink needs at least one sink');
    this.sinks = [...sinks];
  }

  emit(record: AuditRecord): Promise<void> {
    return tryAll(
      this.sinks.map((sink) => () => sink.emit(record)),
      'one or more sinks failed to accept an audit record',
    );
  }

  close(): Promise<void> {
    return tryAll(
      this.sinks.map((sink) => async () => sink.close?.()),
      'one or more sinks failed to close',
    );
  }
}
