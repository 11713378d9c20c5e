package verdicttest

// Untried are the incidents into which no test brings the built program, and why.
func Untried() map[string]string {
	return map[string]string{
		"36 store deleted": "only a process that has the file open can know; another one makes a new file",
	}
}
