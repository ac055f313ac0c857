// The suite's program as tests start it: the compiled one, or its source where that is newer.
import { programOf } from '../../bench/suite/client-process.ts';

const { file, execArgv } = programOf(new URL('../../bench/main.ts', import.meta.url).href);

/** Arguments of `node` that run the suite, before the suite's own. */
export const benchProgram: readonly string[] = [...execArgv, file];
