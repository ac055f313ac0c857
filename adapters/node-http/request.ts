// Requests as Node's parser reads them, except that only an offer of WebSocket is an upgrade.
import { IncomingMessage } from 'node:http';

/**
 * A request whose offer of another protocol, as `h2c`, is ignored (RFC 9110, section 7.8). It stays a request with its
 * body on a connection that lives on. The option `shouldUpgradeCallback` does the same, but not in Node 20 and 22.
 */
export class NodeRequest extends IncomingMessage {
  /** The parser's verdict. No initial value, because the constructor of the base sets `upgrade` before it would. */
  declare isUpgrade: boolean;

  get upgrade(): boolean {
    return this.isUpgrade && (this.method === 'CONNECT' || this.#isHandshake);
  }

  set upgrade(value: boolean) {
    this.isUpgrade = value;
  }

  /** A WebSocket key counts as well: the native server takes each request that has one for a handshake. */
  get #isHandshake(): boolean {
    const { upgrade, 'sec-websocket-key': key } = this.headers;
    return key !== undefined || upgrade?.trim().toLowerCase() === 'websocket';
  }
}
