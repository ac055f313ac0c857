// Promises 1 to 3 in their short form: what is kept while nodes, Redis and the store die.
import { testPromises } from './short-form.ts';

testPromises(1, 3);
