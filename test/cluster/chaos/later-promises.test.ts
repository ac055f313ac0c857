// Promise 4 and all later ones in their short form.
import { testPromises } from './short-form.ts';

testPromises(4, Infinity);
