package verdicttest

// Untried are the incidents into which no test brings the built program, and why.
func Untried() map[string]string {
	const database = "a test of the store brings it about"
	return map[string]string{
		"29 tokens end early":          "takes minutes",
		"34 database's clock":          "no test changes the clock of a database",
		"35 store locked":              database,
		"36 store deleted":             database,
		"37 disk full":                 "needs a disk of its own",
		"38 permissions":               "the administrator may write everything",
		"38 read-only fs":              "needs a disk of its own",
		"39 database down":             database,
		"40 database password":         database,
		"41 too many connections":      database,
		"50 password command hangs":    database,
		"54 holder stopped":            database,
		"54 holder stopped in a login": database,
		"57 index old":                 "takes an hour",
		"58 budget":                    database,
		"80 different key_file":        database,
		"newer store":                  database,
		"older store":                  database,
	}
}
