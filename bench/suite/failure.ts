/** A run that cannot start or go on; the suite prints its message alone and ends with code 2. */
export class CannotRun extends Error {}
