// The suite's program as tests start it: the compiled one, or its source where that is newer.
import { fileURLToPath } from 'node:url';
import { root } from '../../bench/suite/root.ts';
import { compiled } from '../compiled.ts';

const file = compiled('bench/main.ts');

/** Arguments of `node` that run the suite in the folder `root`, before the suite's own. */
export const benchProgram: readonly string[] = file
  ? [fileURLToPath(file)]
  : ['--conditions=reeve-source', '--import', 'tsx', `${root}bench/main.ts`];
