package verdicttest

// Untried are the incidents into which no test brings the built program, and why.
func Untried() map[string]string {
	const database = "a test of the store brings it about"
	return map[string]string{
		"29 tokens end early":          "takes minutes",
		"34 database's clock":          "no test changes the clock of a database",
		"35 store locked":              database,
		"54 holder stopped in a login": database,
		"36 store deleted":             database,
		"38 permissions":               "the administrator may write everything",
		"50 password command hangs":    database,
		"54 holder stopped":            database,
		"57 index old":                 "takes an hour",
		"58 budget":                    database,
	}
}
