// Opens a session of one client, or of the proxy itself, with a server.
import { EraBridge } from './bridge.ts';
import type { ProxyParts } from './proxy-parts.ts';
import { McpSession, type SessionOptions } from './session.ts';

export interface OpenSession {
  readonly session: McpSession;
  readonly server: EraBridge;
}

/** Options that differ between sessions of one proxy. */
interface SessionPlan
  extends Pick<SessionOptions, 'place' | 'tasks' | 'toClient' | 'sessionId' | 'sessionMeta' | 'onIdle'> {
  /** The server serves several clients. */
  readonly isShared: boolean;
  /** Called after the log contains the server's failure. */
  readonly failed: (reason: string, session: McpSession) => void;
}

export function openSession(proxy: ProxyParts, { isShared, failed, ...own }: SessionPlan): OpenSession {
  const { guard, clock, hide, connect, eras, inputTimeout, pins, rounds, writeLog } = proxy;
  const session = new McpSession({
    ...{ guard, clock, hide, rounds, writeLog, pins: pins?.session() ?? null },
    ...own,
  });
  const server = new EraBridge(
    { connect, clock, eras, inputTimeout, isShared },
    {
      message: (message, related) => session.fromServer(message, related),
      introduced: (result) => session.introduced(result),
      restarted: () => session.restarted(),
      failed: (reason) => {
        writeLog(`the MCP server ${reason}`);
        failed(reason, session);
      },
      writeLog,
    },
  );
  session.attach(server);
  return { session, server };
}
