// The tasks of the MCP proxy's calls in the folder of state: who may ask about them, and whose approvals they wait for.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../clock.ts';
import type { Guard } from '../guard/guard.ts';
import type { ConnectionPlan } from './connection.ts';
import type { ListenAddress } from './mcp/listener.ts';
import { TaskFiles } from './mcp/tasks/files.ts';
import { ProxyTasks } from './mcp/tasks/tasks.ts';

interface TaskPlan {
  readonly plan: ConnectionPlan;
  /** Of the server. */
  readonly label: string;
  readonly listen: ListenAddress | null;
  readonly guard: Guard;
  readonly writeLog: (text: string) => void;
}

export function proxyTasks({ plan, label, listen, guard, writeLog }: TaskPlan): ProxyTasks {
  const { hub, state } = plan;
  const files = new TaskFiles(join(state, 'tasks', digest(label)), systemClock);
  const scope = digest(JSON.stringify(hub ? [hub.url, hub.agentId] : []));
  return new ProxyTasks({ files, clock: systemClock, owner: ownerOf(listen), scope, guard, writeLog });
}

/** Over HTTP, whoever has the token, or reaches the listener; else whoever uses the folder. */
function ownerOf(listen: ListenAddress | null): string {
  if (!listen) return 'folder';
  const { token, host, port } = listen;
  return token === null ? `listener ${host}:${port}` : `token ${digest(token)}`;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);
