def run(bench):
    pass
