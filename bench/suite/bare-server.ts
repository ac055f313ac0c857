// The listener of a bare server of the native library, which is a bound of figures.
import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js';

/**
 * Listens on this machine alone.
 * @param port 0: any free one
 * @throws Error if the port is taken
 */
export async function listenBare(app: TemplatedApp, port = 0): Promise<us_listen_socket> {
  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    app.listen('127.0.0.1', port, resolve);
  });
  if (!socket) throw new Error('There is no port for the bare server.');
  return socket;
}
