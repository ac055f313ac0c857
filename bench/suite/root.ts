// The folder of this checkout, whether this module runs from source or compiled.
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(
  new URL(import.meta.url.includes('/dist/bench/') ? '../../../' : '../../', import.meta.url),
);
