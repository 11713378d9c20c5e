package verdicttest

// Untried are the incidents into which no test brings the built program, and why.
func Untried() map[string]string {
	return map[string]string{
		"83 key file deleted, seen by a process": "the programs that start cannot see it; TestADeletedKey",
		"84 key given up":                        "the programs that start cannot see it; TestADeletedKey",
		"serve was never started":                "every scene has one; TestServeOfAHost",
		"serve of another host is not seen":      "one machine has no other host; TestServeOfAHost",
		"refresh fails, and again":               "as 500 everywhere",
		"refresh never works":                    "it takes three lives of tokens; TestFromTheSourceToTheSentence",
		"refresh is always refused":              "as refresh never works",
		"36 store deleted":                       "only a process that has the file open knows; another one makes a new file",
	}
}
