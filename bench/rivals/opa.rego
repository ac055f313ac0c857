# The conditions of bench/scenarios/engine.ts. The suite repeats the rules up to as many contracts, and
# replaces "id" and "tool" in braces by the contract's id and the test of its tool.
package bench

deny contains "{id}" if {
	{tool}
	regex.match(`\.(env|pem|key)$`, input.args.path)
}

deny contains "{id}" if {
	{tool}
	some part in ["/etc/shadow", "/root/.ssh"]
	contains(input.args.path, part)
}

deny contains "{id}" if {
	{tool}
	regex.match(`\brm\s+-[a-z]*[rf]`, input.args.command)
}

deny contains "{id}" if {
	{tool}
	input.environment == "production"
	input.principal.role in ["intern", "guest"]
}

deny contains "{id}" if {
	{tool}
	regex.match(`(?i)drop\s+table|truncate\s+\w+`, input.args.body)
}

deny contains "{id}" if {
	{tool}
	input.args.size > 1000000
}
deny contains "{id}" if {
	{tool}
	startswith(input.args.path, "/proc/")
}

deny contains "{id}" if {
	{tool}
	not input.args.path
}

deny contains "{id}" if {
	{tool}
	some pattern in [`AKIA[0-9A-Z]{16}`, `-----BEGIN [A-Z ]*PRIVATE KEY`, `\d{3}-\d{2}-\d{4}`]
	regex.match(pattern, input.args.body)
}
