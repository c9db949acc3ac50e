/* SPDX-License-Identifier: Apache-2.0 */
/* Compound commands that hold lists: groups, subshells, if, while, (( )); functions and coproc. for and case: clauses.c. */
#include "supervisor/analyze/reading.h"

/* A list that has to hold something, inside command. */
static int body(struct sh_reader *r, struct shell_command *command, unsigned context)
{
	struct sh_scope scope = sh_scope(r);
	size_t nr, at = r->at;

	sh_scope_enter(r, command, SHELL_BODY, context);
	TRY(sh_list(r, &nr));
	sh_scope_return(r, &scope);
	return nr ? 0 : sh_problem(r, at, "a command is missing");
}

static int expect(struct sh_reader *r, enum sh_keyword keyword, const char *sentence)
{
	return sh_take_keyword(r, keyword) ? 0 : sh_problem(r, r->at, sentence);
}

static int group(struct sh_reader *r, struct shell_command *command)
{
	TRY(body(r, command, 0));
	return expect(r, KEYWORD_UNBRACE, "a group has no end");
}

static int subshell(struct sh_reader *r, struct shell_command *command)
{
	TRY(body(r, command, SHELL_IN_SUBSHELL));
	return sh_take_byte(r, ')') ? 0 : sh_problem(r, r->at, "a subshell has no end");
}

static int if_clause(struct sh_reader *r, struct shell_command *command)
{
	unsigned condition = SHELL_IN_CONDITION;

	for (;;) {
		TRY(body(r, command, condition));
		TRY(expect(r, KEYWORD_THEN, "an if has no then"));
		TRY(body(r, command, SHELL_CONDITIONAL));
		if (!sh_take_keyword(r, KEYWORD_ELIF))
			break;
		condition = SHELL_IN_CONDITION | SHELL_CONDITIONAL;
	}
	if (sh_take_keyword(r, KEYWORD_ELSE))
		TRY(body(r, command, SHELL_CONDITIONAL));
	return expect(r, KEYWORD_FI, "an if has no fi");
}

static int while_clause(struct sh_reader *r, struct shell_command *command)
{
	TRY(body(r, command, SHELL_IN_CONDITION | SHELL_IN_LOOP));
	TRY(expect(r, KEYWORD_DO, "a loop has no do"));
	TRY(body(r, command, SHELL_IN_LOOP | SHELL_CONDITIONAL));
	return expect(r, KEYWORD_DONE, "a loop has no done");
}

int sh_loop_body(struct sh_reader *r, struct shell_command *command)
{
	unsigned context = SHELL_IN_LOOP | SHELL_CONDITIONAL;

	TRY(sh_newlines(r));
	if (sh_take_keyword(r, KEYWORD_DO)) {
		TRY(body(r, command, context));
		return expect(r, KEYWORD_DONE, "a loop has no done");
	}
	TRY(sh_bash_only(r, "a loop has no do"));
	TRY(expect(r, KEYWORD_BRACE, "a loop has no body"));
	TRY(body(r, command, context));
	return expect(r, KEYWORD_UNBRACE, "a loop has no end");
}

/* "((": the expression, or ret_command NULL when it is a subshell in a subshell. */
static int calculation(struct sh_reader *r, struct shell_command **ret_command)
{
	struct sh_scope scope = sh_scope(r);
	struct sh_mark mark;
	bool closed, names;

	mark = sh_mark(r);
	TRY(sh_command(r, SHELL_CALCULATION, r->at, ret_command));
	r->command = *ret_command;
	TRY(sh_double_parentheses(r, &closed, &names));
	if (closed) {
		TRY(sh_bash_only(r, "\"((\" is not the same in every shell"));
		if (names)
			TRY(sh_evaluation(r, SHELL_EVALUATES_ARITHMETIC, mark.at, sh_slice(r, mark.at), NULL));
	}
	sh_scope_return(r, &scope);
	if (!closed) {
		sh_return(r, &mark);
		*ret_command = NULL;
	}
	return 0;
}

static int clause(struct sh_reader *r, enum sh_keyword keyword, struct shell_command *command)
{
	switch (keyword) {
	case KEYWORD_BRACE:
		return group(r, command);
	case KEYWORD_IF:
		return if_clause(r, command);
	case KEYWORD_WHILE:
	case KEYWORD_UNTIL:
		return while_clause(r, command);
	case KEYWORD_FOR:
	case KEYWORD_SELECT:
		return sh_for(r, command, keyword);
	case KEYWORD_CASE:
		return sh_case(r, command);
	case KEYWORD_TEST:
		return sh_condition(r, command);
	default:
		return sh_problem(r, r->at, "a reserved word stands where a command should");
	}
}

static const enum shell_kind kind_of[] = {
	[KEYWORD_BRACE] = SHELL_GROUP, [KEYWORD_IF] = SHELL_IF, [KEYWORD_WHILE] = SHELL_WHILE, [KEYWORD_UNTIL] = SHELL_WHILE,
	[KEYWORD_FOR] = SHELL_FOR, [KEYWORD_SELECT] = SHELL_SELECT, [KEYWORD_CASE] = SHELL_CASE, [KEYWORD_TEST] = SHELL_CONDITION,
};

static int by_keyword(struct sh_reader *r, struct shell_command **ret_command)
{
	size_t end, at = r->at;
	enum sh_keyword keyword = sh_keyword(r, &end);

	switch (keyword) {
	case KEYWORD_NONE:
	case KEYWORD_IN:		/* reserved only where it is expected */
		return 0;
	case KEYWORD_BRACE: case KEYWORD_IF: case KEYWORD_WHILE: case KEYWORD_UNTIL: case KEYWORD_FOR: case KEYWORD_CASE:
		break;
	case KEYWORD_SELECT: case KEYWORD_TEST:
		TRY(sh_bash_only(r, "a keyword of bash is an ordinary word in other shells"));
		break;
	default:
		return sh_problem(r, r->at, "a reserved word stands where a command should");
	}
	r->at = end;
	TRY(sh_command(r, kind_of[keyword], at, ret_command));
	return clause(r, keyword, *ret_command);
}

static int by_parenthesis(struct sh_reader *r, struct shell_command **ret_command)
{
	size_t at = r->at;

	if (sh_peek_next(r) == '(') {
		TRY(calculation(r, ret_command));
		if (*ret_command)
			return 0;
	}
	sh_skip(r);
	TRY(sh_command(r, SHELL_SUBSHELL, at, ret_command));
	return subshell(r, *ret_command);
}

int sh_compound(struct sh_reader *r, struct shell_command **ret_command)
{
	struct sh_scope scope = sh_scope(r);

	*ret_command = NULL;
	TRY(sh_enter(r));
	TRY(sh_peek(r) == '(' ? by_parenthesis(r, ret_command) : by_keyword(r, ret_command));
	if (*ret_command) {
		r->command = *ret_command;
		TRY(sh_redirections(r, *ret_command));
		sh_scope_return(r, &scope);
	}
	sh_leave(r);
	return 0;
}

int sh_function(struct sh_reader *r, struct shell_command *command, struct bytes name)
{
	struct sh_scope scope = sh_scope(r);
	struct shell_function *function = sh_take(r, sizeof(*function));
	struct shell_command *inner;

	if (!function)
		return -ENOMEM;
	command->kind = SHELL_DEFINITION;
	*function = (struct shell_function){ NULL, name, command };
	*r->answer->functions_tail = function;
	r->answer->functions_tail = &function->next;
	r->parent = command;
	r->relation = SHELL_FUNCTION_BODY;
	/* What surrounds the definition says nothing of where it is called from. */
	r->context = SHELL_IN_FUNCTION | SHELL_CONDITIONAL;
	r->function = function;
	TRY(sh_newlines(r));
	TRY(sh_compound(r, &inner));
	if (!inner)
		return sh_problem(r, r->at, "a function's body is not a compound command");
	sh_scope_return(r, &scope);
	return 0;
}

/* A word without quoting, expansions or continuations: what it is is what is typed. Empty where there is none. */
static struct bytes plain_word(struct sh_reader *r)
{
	size_t from = r->at;

	while (r->at < r->len && !strchr(" \t\n;&|()<>'\"\\$`*?[]{}~#!", r->text[r->at]))
		r->at++;
	return sh_slice(r, from);
}

/* function NAME [()] body */
int sh_function_keyword(struct sh_reader *r, struct shell_command **ret_command)
{
	size_t at = r->at;
	struct bytes name;

	TRY(sh_bash_only(r, "\"function\" is a keyword in some shells and a word in others"));
	sh_take_keyword(r, KEYWORD_FUNCTION);
	sh_blanks(r);
	name = plain_word(r);
	if (!name.len || !sh_at_word_end(r))
		return sh_problem(r, at, "a function's name is not a plain word");
	sh_blanks(r);
	/* "(" may also begin a body that is a subshell */
	if (sh_peek(r) == '(') {
		size_t parenthesis = r->at;

		sh_skip(r);
		sh_blanks(r);
		if (!sh_take_byte(r, ')'))
			r->at = parenthesis;
	}
	TRY(sh_command(r, SHELL_DEFINITION, at, ret_command));
	return sh_function(r, *ret_command, name);
}

/* Whether a name stands here and a compound command behind it: then it is the coprocess's. */
static struct bytes coproc_name(struct sh_reader *r)
{
	size_t from = r->at, end;
	struct bytes name;

	name = plain_word(r);
	if (sh_bytes_name(name) && sh_at_word_end(r)) {
		sh_blanks(r);
		if (sh_peek(r) == '(' || sh_keyword(r, &end) != KEYWORD_NONE)
			return name;
	}
	r->at = from;
	return bytes_of("COPROC");
}

int sh_coproc(struct sh_reader *r, struct shell_command **ret_command)
{
	struct sh_scope scope = sh_scope(r);
	struct shell_command *inner;
	struct shell_assignment *assignment;
	struct bytes name = bytes_of("COPROC");
	size_t at = r->at, end;

	TRY(sh_bash_only(r, "\"coproc\" is a keyword in some shells and a word in others"));
	/* bash 5.2 prints a substitution it has parsed and reads it again: "coproc ls" comes back as "coproc COPROC ls" */
	if (r->context & SHELL_IN_SUBSTITUTION)
		return sh_problem(r, at, "a coprocess inside a substitution is not modelled");
	sh_take_keyword(r, KEYWORD_COPROC);
	TRY(sh_enter(r));
	TRY(sh_command(r, SHELL_COPROC, at, ret_command));
	(*ret_command)->stdin_from = SHELL_STDIN_COPROC;
	r->command = *ret_command;
	sh_blanks(r);
	if (sh_keyword(r, &end) == KEYWORD_NONE && sh_peek(r) != '(')
		name = coproc_name(r);
	TRY(sh_assignment(r, SHELL_ASSIGN_COPROC, at, name, &assignment));
	sh_scope_enter(r, *ret_command, SHELL_BODY, SHELL_IN_BACKGROUND | SHELL_IN_SUBSHELL);
	TRY(sh_compound(r, &inner));
	if (!inner)
		TRY(sh_simple(r, &inner));
	sh_settle_stdin(inner);
	sh_scope_return(r, &scope);
	sh_leave(r);
	return 0;
}
