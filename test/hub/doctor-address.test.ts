// Checks of the hub's address: the certificate of an address that is an IP literal.
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createSecrets } from '../../adapters/node/secrets.ts';
import type { Config } from '../../src/hub/config.ts';
import { checkAddress } from '../../src/hub/doctor/address.ts';
import { certificate, certificateKey } from '../certificate.ts';

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::1', '[::1]'],
])('the certificate at %s is read', async (address, host) => {
  const server = createServer({ cert: certificate, key: certificateKey }, (_request, response) => {
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  const config = { host: address, port: 9 } as Config;
  try {
    const secrets = createSecrets('a secret key of at least 32 characters');
    const findings = await checkAddress(config, `https://${host}:${port}`, true, secrets);
    const detail = findings.find(({ check }) => check === 'certificate')?.detail;
    expect(detail).toBe('Clients refuse the certificate (DEPTH_ZERO_SELF_SIGNED_CERT).');
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
