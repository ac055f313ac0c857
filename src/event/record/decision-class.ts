// The schema of a decision's class. Apart from the words, which run in browsers.
import { z } from 'zod';
import { decisionClasses } from './words.ts';

/** Class by which an action is counted and filtered. */
export const decisionClass = z.enum(decisionClasses);
