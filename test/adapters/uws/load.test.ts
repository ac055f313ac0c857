// The message when the native server does not fit the machine.
import { expect, it } from 'vitest';
import { loadUws } from '../../../adapters/uws/load.ts';
import { onNode } from './fixtures.ts';

it('says in one line what fits when the native server does not load', async () => {
  const failing = loadUws(() =>
    Promise.reject(
      new Error(
        "Cannot load.\n\nTried ./uws_linux_x64_127.node\n/lib/libc.so.6: version `GLIBC_2.38' not found",
      ),
    ),
  );
  await expect(failing).rejects.toMatchObject({ code: 'unavailable' });
  const line = await failing.catch((error: Error) => error.message);
  expect(line).toContain(`does not load on Node ${process.version}, ${process.platform} ${process.arch}`);
  expect(line).toContain('needs Node 22 or 24');
  expect(line).toContain('glibc 2.38 or newer');
  expect(line).toContain('GLIBC_2.38');
  expect(line).not.toContain('\n');
});

// On Node's own server the native one is not asked of the machine.
it.runIf(!onNode)('loads on this machine', async () => {
  expect(typeof (await loadUws()).App).toBe('function');
});
