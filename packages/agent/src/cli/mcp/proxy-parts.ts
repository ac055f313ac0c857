// Parts of a proxy that all of its clients share.
import type { Clock } from '../../clock.ts';
import type { Guard } from '../../guard/guard.ts';
import type { ToolPins } from '../../tools/tool-pins.ts';
import type { ServerEras } from './bridge.ts';
import type { Connect } from './connection.ts';
import type { ProxyRounds } from './rounds.ts';
import type { ProxyTasks } from './tasks/tasks.ts';

/** Parts for both ways to the agent. */
export interface ProxyParts {
  readonly guard: Guard;
  readonly clock: Clock;
  readonly hide: boolean;
  readonly connect: Connect;
  readonly eras: ServerEras;
  /** Milliseconds that a server's question may wait for the client's answer. */
  readonly inputTimeout: number;
  /** Null: definitions of tools are not judged. */
  readonly pins: ToolPins | null;
  readonly rounds: ProxyRounds;
  /** Null: calls become no tasks. */
  readonly tasks: ProxyTasks | null;
  /** The member of `_meta` that names the counting session of a call; absent: clients cannot choose it. */
  readonly sessionMeta?: string | undefined;
  /** The server is reached over HTTP: its sessions may end and begin again. */
  readonly isRemote?: boolean;
  /** For people. */
  readonly writeLog: (text: string) => void;
}
