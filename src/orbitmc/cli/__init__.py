"""The command line: each verb parses, calls a public function, and prints."""
