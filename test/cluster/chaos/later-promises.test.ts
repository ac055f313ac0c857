// Promises 4 to 11 in their short form.
import { testPromises } from './short-form.ts';

testPromises(4, 11);
