// Migrations of the tables of events that came after the first version (schema.ts). Published ones never change.

/** Which tally of its segment an event is counted in, and when it was (segment.ts): what is counted needs no bodies. */
export const eventMarks = `
ALTER TABLE segments ADD COLUMN marks BLOB;
`;
