/** The bytes that open a console's WebSocket. The key is the example of RFC 6455: nobody checks the answer to it. */
export const consoleRequest = (cookie: string, origin: string): string =>
  `GET /api/v1/stream/dashboard HTTP/1.1\r\nHost: ${new URL(origin).host}\r\nOrigin: ${origin}\r\n` +
  `Cookie: ${cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: reeve.v1.json\r\n\r\n';
